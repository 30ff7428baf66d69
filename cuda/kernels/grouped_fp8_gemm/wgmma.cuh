// wgmma.cuh: the products of groups of fp8 rows on Hopper's tensor cores (wgmma, sm_90a):
//     y[t,j] = sum over blocks b of 128 along k of  scale_x[t,b] scale_w[g,j/128,b]  sum_{k in b} x[t,k] w[g,j,k]
//   By the ring and the consumers of fp8_gemm/wgmma_blocks.cuh: tiles of 128 x 128, of which two warpgroups have 64 rows each. One thread of the first
//   warpgroup, the producer, has the copy engine fill a ring of stages, each with a block of x and of w[g]. A consumer has two partial sums: while it
//   scales and adds one in fp32, the product of the other is in flight:
//
//       producer    wait empty[s]     copy rows of x and rows of w[g] -> full[s]
//       consumer    wait full[s]      start block s     wait for block s - 1, arrive at empty[s - 1]     add block s - 1, times its scales
//
//   Blocks are persistent and take every so-manieth tile of all groups; each warp walks along the groups to it, 32 at a time. A tile never crosses
//   groups, but it is copied as if it did: rows of the next group make sums that are not written. Of a tile that its group does not fill, rows of x
//   come 16 at a time, and a consumer without rows only hands the stages back: where groups have few rows, the time is that of reading w. What
//   the stage held before stands in the other rows; their sums are not written either.
#ifndef TRIAD_GROUPED_FP8_GEMM_WGMMA_CUH
#define TRIAD_GROUPED_FP8_GEMM_WGMMA_CUH
#include "capability.cuh"
#include "../fp8_gemm/wgmma_blocks.cuh"
#include "group_walk.cuh"
#include "groups.cuh"
#include "hopper/head_map.cuh"

namespace triad {

using GroupTile = SmallTile;

// GroupWork is the work of a launch. The maps count pairs of codes: x with boxes of a whole tile and of few_rows, and w.
struct GroupWork {
	static constexpr int arrivals = 1, few_rows = 16;
	Fp8Groups groups;
	hopper::HeadMap x, x_few, w;
	bool wide; // rows of y can be written 16 bytes at a time

	__device__ void prepare() const {
		hopper::prefetch_map(&x);
		hopper::prefetch_map(&x_few);
		hopper::prefetch_map(&w);
	}
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// GroupPlace is a warp's place among the tiles: the tile's first row, as x counts them, its first column, and the end of its group.
struct GroupPlace {
	WarpWalk<GroupTile::m, GroupTile::n> walk;
	int row, col, end;

	// seek goes on to a tile; false where there is none. By whole warps.
	__device__ bool seek(const Fp8Groups &g, int64_t tile) {
		if (!walk.seek(g, tile)) return false;
		constexpr int height = 2048 / GroupTile::m; // rows of tiles of a group that are in flight together
		const int size = static_cast<int>(walk.size), first = static_cast<int>(walk.begin);
		const TilesInBands<int> order = {(size + GroupTile::m - 1) / GroupTile::m, static_cast<int>((g.cols + GroupTile::n - 1) / GroupTile::n), height};
		const TilePlace at = order.place(static_cast<int>(tile) - walk.before);
		row = first + static_cast<int>(at.m) * GroupTile::m, col = static_cast<int>(at.n) * GroupTile::n, end = first + size;
		return true;
	}
};

// produce_groups is the producer warp: all lanes look for tiles, the first one copies.
__device__ inline void produce_groups(const GroupWork &work, uint32_t memory, int k_blocks) {
	using Tile = GroupTile;
	RingPlace<Tile::stages> at;
	GroupPlace place = {};
	for (int64_t tile = blockIdx.x; place.seek(work.groups, tile); tile += gridDim.x) {
		const int rows = place.end - place.row, group = place.walk.group;
		const bool full_tile = rows >= Tile::m;
		const int boxes = full_tile ? 1 : (rows + GroupWork::few_rows - 1) / GroupWork::few_rows;
		const int box_bytes = (full_tile ? Tile::m : GroupWork::few_rows) * hopper::tile_row_bytes;
		const hopper::HeadMap *const map = full_tile ? &work.x : &work.x_few;
		for (int k_block = 0; threadIdx.x == 0 && k_block < k_blocks; k_block++, at.next()) {
			const uint32_t full = memory + Tile::full(at.stage);
			hopper::barrier_wait(memory + Tile::empty(at.stage), at.parity ^ 1);
			hopper::barrier_arrive_expecting(full, static_cast<uint32_t>(boxes * box_bytes + Tile::b_bytes));
			const int column = k_block * hopper::box_columns;
			for (int i = 0; i < boxes; i++)
				hopper::copy_rows(memory + Tile::a(at.stage) + i * box_bytes, map, column, place.row + i * GroupWork::few_rows, 0, 0, full);
			hopper::copy_rows(memory + Tile::b(at.stage), &work.w, column, place.col, 0, group, full);
		}
	}
}

// What a consumer does. The first scales of a tile are fetched before the tile before it is written.
__device__ inline void consume_groups(const GroupWork &work, uint32_t memory, int k_blocks, int consumer) {
	using Tile = GroupTile;
	const Product &all = work.groups.all;
	BlockConsumer<TRIAD_E4M3, TRIAD_E4M3, Tile> own = {memory, consumer, {}, {}, {}};
	GroupPlace place = {};
	if (!place.seek(work.groups, blockIdx.x)) return;
	const int thread_row = Tile::row(consumer, 0, static_cast<int>(threadIdx.x) % warpgroup, 0);
	const auto factors_of = [&] {
		return QuadFactors(work.groups.product(place.walk.group, place.end), place.row + thread_row, place.col, 0, k_blocks);
	};
	QuadFactors factors = factors_of();
	for (int64_t tile = blockIdx.x;;) {
		const bool any = place.row + consumer * hopper::mma_rows < place.end; // of the consumer's rows one is of the group
		if (any) own.add_up(all, factors, k_blocks);
		else own.pass(k_blocks);
		const int row = place.row + thread_row, col = place.col, end = place.end;
		tile += gridDim.x;
		const bool more = place.seek(work.groups, tile);
		if (more) factors = factors_of();
		if (any) {
			Product of = all;
			of.m = end;
			store_sums(of, row, col, own.sum, work.wide);
		}
		if (!more) return;
	}
}
#endif

inline __global__ void __launch_bounds__(GroupTile::threads, 1) product_wgmma_groups(const __grid_constant__ GroupWork work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	using Tile = GroupTile;
	const Ring ring = begin_ring<Tile>(work);
	const int k_blocks = static_cast<int>((work.groups.all.k + tile_k - 1) / tile_k);
	const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / warpgroup, 0);   // one value a warp, and the compiler knows
	if (group == 0) {
		hopper::give_registers<40>();
		if (threadIdx.x < 32) produce_groups(work, ring.memory, k_blocks);
	} else {
		hopper::take_registers<232>(); // 40 + 2 * 232 = 3 * 168
		consume_groups(work, ring.memory, k_blocks, group - 1);
	}
#endif
}

struct WgmmaGroups {
	static int launch(const Fp8Groups &g, cudaStream_t stream) {
		const auto words = [](int64_t codes) { return codes / 2; };
		const Product &p = g.all;
		GroupWork work = {};
		work.groups = g;
		work.wide = p.n % 8 == 0 && reinterpret_cast<uintptr_t>(p.c) % 16 == 0;
		const hopper::HeadSizes rows = {1, 1, p.m, words(p.k), 0, 0, words(p.a.row_stride)};
		const hopper::HeadSizes matrices = {g.groups, 1, p.n, words(p.k), words(g.w_step), 0, words(p.b.row_stride)};
		if (const int status = hopper::map_heads(&work.x, p.a.codes, rows, GroupTile::m)) return status;
		if (const int status = hopper::map_heads(&work.x_few, p.a.codes, rows, GroupWork::few_rows)) return status;
		if (const int status = hopper::map_heads(&work.w, p.b.codes, matrices, GroupTile::n)) return status;
		const int64_t most = std::max(1, device_attribute(cudaDevAttrMultiProcessorCount));
		const unsigned blocks = static_cast<unsigned>(std::min<int64_t>(most_tiles(g, GroupTile::m, GroupTile::n), most));
		if (const cudaError_t status =
		        cudaFuncSetAttribute(product_wgmma_groups, cudaFuncAttributeMaxDynamicSharedMemorySize, GroupTile::shared_bytes))
			return cleared(static_cast<int>(status));
		product_wgmma_groups<<<blocks, GroupTile::threads, GroupTile::shared_bytes, stream>>>(work);
		return launched();
	}

	static Limits limits() {
		return {wgmma_capability(), limit("operands that the copy engine can read: rows and matrices that begin at multiples of 16 bytes, no size 0, an even k",
		                                  check_operands)};
	}

private:
	static void check_operands(Check &check, const triad_call *call) {
		for (int i = 0; i <= 2; i += 2) {
			const char *const name = i == 0 ? "x" : "w";
			const triad_tensor &t = call->in[i];
			const long long k = t.shape[t.rank - 1], k_stride = t.stride[t.rank - 1];
			check.that(elements(t) > 0 && k % 2 == 0, "%s has %lld elements, rows of %lld: want some, and rows of an even number", name,
			           static_cast<long long>(elements(t)), k);
			check.that(k_stride == 1 && reinterpret_cast<uintptr_t>(t.data) % 16 == 0, "%s has a stride of %lld along k: want 1, from a multiple of 16 bytes on",
			           name, k_stride);
			for (int d = 0; d < t.rank; d++) {
				const long long size = t.shape[d], stride = t.stride[d];
				check.that(size < INT32_MAX, "%s has a size of %lld: want below 2^31 - 1", name, size);
				check.that(d == t.rank - 1 || size == 1 || (stride > 0 && stride % 16 == 0 && stride < int64_t{1} << 39),
				           "%s has a stride of %lld: want a multiple of 16, from 16 to 2^39", name, stride);
			}
		}
	}
};

} // namespace triad
#endif
