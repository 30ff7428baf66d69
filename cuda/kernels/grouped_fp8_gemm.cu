// grouped_fp8_gemm: y[t,j] = sum_k (x[t,k] scale_x[t,k/128]) (w[g,j,k] scale_w[g,j/128,k/128]) for offsets[g] <= t < offsets[g+1]
// Layout   x [tokens, k], w [groups, n, k] of e4m3 codes, scales in fp32, one of 128 numbers along k of x and of 128 x 128 of w; offsets [groups + 1]
//          int32, rising from 0 to tokens; y [tokens, n] in bf16, fp16 or fp32 (attribute out), contiguous. Inputs may have any strides.
// Numerics products and sums in fp32; after every 128 of k the partial sum is scaled and added to the result, which is rounded once.
// Limits   groups may be empty, and one may have every row; they begin at any row. k = 0 writes zeros.
// Source   DeepSeek-AI 2025, DeepGEMM: m_grouped_fp8_gemm_nt_contiguous; scales as in DeepSeek-V3 2024, arXiv:2412.19437
// The product of a group is one of fp8_gemm, from whose parts these kernels are made. There is no backward: see the spec.
//   naive       a thread an element; it searches the group of its row. Costs: every number read anew
//   tiled       a block a tile of 64 x 64, which it finds by a walk along the offsets. The host does not know them. Costs: blocks without a tile
//   sm90_wgmma  tiles of 128 x 128 on tensor cores, by blocks that stay; see grouped_fp8_gemm/wgmma.cuh. Costs: a GPU of 9.0, rows of 16 bytes
#include "arguments.cuh"
#include "group_walk.cuh"
#include "grouped_fp8_gemm/groups.cuh"
#include "grouped_fp8_gemm/wgmma.cuh"
#include "register.cuh"
#include "rows.cuh"
#include "spec/grouped_fp8_gemm.cuh"

namespace {

using triad::DefaultTile;
using triad::Fp8Groups;
using triad::Product;

// ---- kernels

__global__ void grouped_fp8_gemm_naive_kernel(Fp8Groups groups, int64_t all) {
	for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < all; i += gridDim.x * static_cast<int64_t>(blockDim.x)) {
		const int64_t row = i / groups.cols, col = i % groups.cols;
		int64_t g = 0; // the last group that does not begin after the row: those before it at the same place are empty
		for (int64_t high = groups.groups - 1; g < high;) {
			const int64_t middle = g + (high - g + 1) / 2;
			if (groups.begins(middle) <= row) g = middle;
			else high = middle - 1;
		}
		const Product p = groups.product(g, groups.begins(g + 1));
		triad::store_element(p.c, p.out, i, triad::naive_element<TRIAD_E4M3, TRIAD_E4M3>(p, row, col));
	}
}

__global__ void __launch_bounds__(DefaultTile::threads) grouped_fp8_gemm_tiled_kernel(Fp8Groups groups) {
	triad::GroupWalk<DefaultTile::m, DefaultTile::n> walk = {};
	if (!walk.seek(groups, blockIdx.x)) return; // the whole block
	const int64_t begin = groups.begins(walk.group), across = (groups.cols + DefaultTile::n - 1) / DefaultTile::n, own = blockIdx.x - walk.before;
	const Product p = groups.product(walk.group, groups.begins(walk.group + 1));
	triad::tile_product<TRIAD_E4M3, TRIAD_E4M3, DefaultTile>(
		p, begin + own / across * DefaultTile::m, own % across * DefaultTile::n, 0, p.k,
		[&](int64_t row, int64_t col, float sum) { triad::store_element(p.c, p.out, row * p.n + col, sum); });
}

// ---- launchers

struct Naive {
	static int launch(const Fp8Groups &g, cudaStream_t stream) {
		const int64_t all = g.rows * g.cols;
		grouped_fp8_gemm_naive_kernel<<<triad::blocks_for(all, triad::flat_threads), triad::flat_threads, 0, stream>>>(g, all);
		return triad::launched();
	}
};

struct Tiled {
	static int launch(const Fp8Groups &g, cudaStream_t stream) {
		const unsigned blocks = static_cast<unsigned>(triad::most_tiles(g, DefaultTile::m, DefaultTile::n));
		grouped_fp8_gemm_tiled_kernel<<<blocks, DefaultTile::threads, 0, stream>>>(g);
		return triad::launched();
	}
};

template <class Variant> int launch_groups(const triad_call *call) {
	const Fp8Groups g = triad::groups_of(call);
	if (g.groups == 0 || g.rows == 0 || g.cols == 0) return TRIAD_OK;
	return Variant::launch(g, triad::stream_of(call));
}

void check_tiles(triad::Check &check, const triad_call *call) {
	const int64_t tiles = triad::most_tiles(triad::groups_of(call), DefaultTile::m, DefaultTile::n);
	check.that(tiles <= INT32_MAX, "%lld tiles are too many blocks", static_cast<long long>(tiles));
}

const triad::Limit few_tiles = triad::limit("at most 2^31 - 1 tiles", check_tiles);

triad::Limits wgmma() {
	triad::Limits limits = triad::WgmmaGroups::limits();
	limits.push_back(few_tiles);
	return limits;
}

// ---- registration

constexpr uint32_t codes = triad::bit(TRIAD_E4M3);

TRIAD_KERNEL(grouped_fp8_gemm, naive, forward, .contract("promoted").dtypes(codes).outputs(1).launch(launch_groups<Naive>))
TRIAD_KERNEL(grouped_fp8_gemm, tiled, forward,
             .contract("promoted").dtypes(codes).outputs(1).limits(few_tiles).launch(launch_groups<Tiled>))
TRIAD_KERNEL(grouped_fp8_gemm, sm90_wgmma, forward,
             .asynchronous().contract("promoted").dtypes(codes).outputs(1).limits(wgmma()).launch(launch_groups<triad::WgmmaGroups>))

} // namespace
