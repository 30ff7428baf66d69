// fp8_gemm: c[m,n] = sum_k (a[m,k] * scale_a) * (b[n,k] * scale_b)      backward: grad_a[m,k] = g bt^T, grad_b[n,k] = gt at^T
// Layout   a [m, k], b [n, k] of e4m3 or e5m2 codes (not both e5m2), both K-major; c [m, n] row-major in bf16, fp16 or fp32 (attribute
//          out). The backward's operands g [m, n], bt [k, n], gt [n, m], at [k, m] come quantised along the reduction they take part in
//          (g and gt e5m2, bt and at e4m3), so it is two products of the same kind. Inputs may have any strides; outputs are contiguous.
// Scales   fp32 multipliers: tensor [1] and [1]; row, one per row of each operand; block, [rows, ceil(k/128)] for the first operand and
//          [ceil(rows/128), ceil(k/128)] for the second.
// Numerics products and sums in fp32; after every 128 of the reduction the partial sum is scaled and added to the result, which is
//          rounded once, to c's format: overflow gives infinity. NaN and infinity propagate.
// Limits   m or n = 0 launches nothing; k = 0 writes zeros.
// Source   Micikevicius et al. 2022, arXiv:2209.05433; block scales as in DeepSeek-V3 2024, arXiv:2412.19437
//   naive   one thread per element of c; the readable one, and the one to trust first
//   tiled   one block per 64x64 tile of c, tiles of the operands decoded into shared memory, 8x4 elements a thread in registers
//   splitk  as tiled, with the reduction divided among blocks; the partial results go to the workspace and a second kernel adds them in
//           a fixed order, so that the bits do not depend on the schedule
//   sm90_wgmma  products on the tensor cores of Hopper, summed there over 128 of the reduction; see fp8_gemm/wgmma.cuh
//   sm90_tma_fast  the same, summed there to the end (contract fast); see fp8_gemm/sm90_tma_fast.cuh. Costs: rows of 16 bytes
#include <algorithm>

#include "arguments.cuh"
#include "capability.cuh"
#include "fp8_gemm/sm90_tma_fast.cuh"
#include "fp8_gemm/tiled.cuh"
#include "fp8_gemm/wgmma_launch.cuh"
#include "register.cuh"
#include "spec/fp8_gemm.cuh"

namespace {

using triad::DefaultTile, triad::Product, triad::TmaFast, triad::Wgmma, triad::Naive, triad::Tiled;
using triad::ceil_div, triad::launch_products, triad::product_of, triad::product_tiled, triad::scale_block, triad::tile_grid;

// ---- split-k

// c = sum over s of partials[s][m][n], s ascending.
__global__ void add_partials(Product p, const float *partials, int64_t splits) {
	const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
	if (i >= p.m * p.n) return;
	float sum = 0;
	for (int64_t s = 0; s < splits; s++) sum += partials[s * p.m * p.n + i];
	triad::store_element(p.c, p.out, i, sum);
}

// The split-k plan: enough parts for about 512 tiles in flight, none shorter than a scale block, and none empty.
int64_t part_length(const Product &p) {
	const int64_t tiles = ceil_div(p.m, DefaultTile::m) * ceil_div(p.n, DefaultTile::n), blocks = ceil_div(p.k, scale_block);
	const int64_t splits = std::max<int64_t>(1, std::min<int64_t>({blocks, 16, 512 / std::max<int64_t>(1, tiles)}));
	return std::max<int64_t>(1, ceil_div(blocks, splits)) * scale_block;
}

int64_t split_count(const Product &p) { return std::max<int64_t>(1, ceil_div(p.k, part_length(p))); }

int64_t splitk_workspace(const triad_call *call) {
	int64_t bytes = 0;
	for (int i = 0; i < call->n_out; i++) {   // products run one after the other and share it
		const Product p = product_of(call, i);
		bytes = std::max<int64_t>(bytes, split_count(p) * p.m * p.n * static_cast<int64_t>(sizeof(float)));
	}
	return bytes;
}

struct SplitK {
	template <int32_t FormatA, int32_t FormatB>
	static int launch(const Product &p, const triad_call *call, cudaStream_t stream) {
		float *partials = static_cast<float *>(call->workspace);
		const int64_t splits = split_count(p), length = part_length(p);
		product_tiled<FormatA, FormatB, DefaultTile><<<tile_grid<DefaultTile>(p, splits), DefaultTile::threads, 0, stream>>>(p, length, partials);
		const unsigned blocks = static_cast<unsigned>(ceil_div(p.m * p.n, triad::flat_threads));
		add_partials<<<blocks, triad::flat_threads, 0, stream>>>(p, partials, splits);
		return triad::launched();
	}
};

// ---- registration

// The main (first) input of a backward is the codes of the upstream gradient, always e5m2.
constexpr uint32_t forward_dtypes = triad::bit(TRIAD_E4M3) | triad::bit(TRIAD_E5M2), backward_dtypes = triad::bit(TRIAD_E5M2);

TRIAD_KERNEL(fp8_gemm, naive, forward,
             .contract("promoted").dtypes(forward_dtypes).outputs(1).launch(launch_products<Naive>))
TRIAD_KERNEL(fp8_gemm, tiled, forward,
             .contract("promoted").dtypes(forward_dtypes).outputs(1).launch(launch_products<Tiled>))
TRIAD_KERNEL(fp8_gemm, splitk, forward,
             .contract("promoted").dtypes(forward_dtypes).outputs(1).workspace(splitk_workspace).launch(launch_products<SplitK>))
TRIAD_KERNEL(fp8_gemm, naive, backward,
             .contract("promoted").dtypes(backward_dtypes).outputs(3).launch(launch_products<Naive>))
TRIAD_KERNEL(fp8_gemm, tiled, backward,
             .contract("promoted").dtypes(backward_dtypes).outputs(3).launch(launch_products<Tiled>))
TRIAD_KERNEL(fp8_gemm, splitk, backward,
             .contract("promoted").dtypes(backward_dtypes).outputs(3).workspace(splitk_workspace).launch(launch_products<SplitK>))
TRIAD_KERNEL(fp8_gemm, sm90_wgmma, forward,
             .asynchronous().contract("promoted").dtypes(forward_dtypes).outputs(1).limits(Wgmma::limits()).launch(launch_products<Wgmma>))
TRIAD_KERNEL(fp8_gemm, sm90_wgmma, backward,
             .asynchronous().contract("promoted").dtypes(backward_dtypes).outputs(3).limits(Wgmma::limits()).launch(launch_products<Wgmma>))

TRIAD_KERNEL(fp8_gemm, sm90_tma_fast, forward,
             .asynchronous().contract("fast").dtypes(forward_dtypes).outputs(1).limits(TmaFast::limits()).launch(launch_products<TmaFast>))
TRIAD_KERNEL(fp8_gemm, sm90_tma_fast, backward,
             .asynchronous().contract("fast").dtypes(backward_dtypes).outputs(3).limits(TmaFast::limits()).launch(launch_products<TmaFast>))

} // namespace
