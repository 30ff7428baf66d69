// walked_product.cuh: the pipeline of pair_product.cuh for products whose tiles do not all have as many steps, such as those of groups of rows: each
// warp walks along the groups to its next tile. Where all tiles have as many steps, see pair_product.cuh.
//   A block has tiles of 128 x 256 and three warpgroups. One thread of the first, the producer, keeps a ring of stages of 128 bytes of the reduction
//   filled. The other two, the consumers, each multiply 64 rows; one whose rows lie beyond the matrix only hands the stages back:
//
//       producer    | copies of tile 0      | copies of tile 1      |  as far ahead as there are stages
//       consumers      | multiply tile 0       | write |  multiply tile 1       | write |
//
//   of which a stage s is
//
//       producer    wait empty[s]       (both blocks' consumers have read it)     copy its part of a and b -> full[s]
//       consumer    wait full[s]        start stage s     wait for stage s - 1    arrive at empty[s - 1] of both blocks
//
//   The blocks of a cluster share an operand, of which each brings half for both (multicast). If their tiles lie below each other, they share the
//   columns of b, and the L2 cache gives 32 KB for 1,024 clocks of products. If they lie side by side, they share the rows of a: that takes 40 KB,
//   but wastes less where matrices have few rows.
//   Clusters are persistent. A kernel's work says which tiles there are, and which part of its operands each one needs. An operand lies along the
//   reduction or across it.
#ifndef TRIAD_HOPPER_WALKED_PRODUCT_CUH
#define TRIAD_HOPPER_WALKED_PRODUCT_CUH
#include <algorithm>

#include "arguments.cuh"
#include "hopper/barrier.cuh"
#include "hopper/cluster.cuh"
#include "hopper/head_map.cuh"
#include "hopper/swizzle.cuh"
#include "hopper/wgmma_half.cuh"
#include "register.cuh"
#include "tile_order.cuh"
#include "wgmma_tile.cuh"

namespace triad {
namespace hopper {

// WalkedTile divides a tile of the result and a block's shared memory: the ring, a stage of which holds a and then b, and the barriers. Lengths along
// the reduction are in 16-bit words.
enum class WalkedShares { a, b };
template <int Cluster, int Stages, WalkedShares Shares> struct WalkedTile {
	static constexpr int cluster = Cluster, stages = Stages;
	static constexpr int warpgroup = 128, consumers = 2, threads = warpgroup * (1 + consumers);
	static constexpr int m = consumers * mma_rows, n = 256, k = 64;
	using Sums = float[n / 8][4];                              // a thread's sums of a consumer's 64 rows
	static constexpr int panel_bytes = k * tile_row_bytes;     // of 64 rows or columns that lie across the reduction
	static constexpr int a_bytes = m * tile_row_bytes, b_bytes = n * tile_row_bytes, stage_bytes = a_bytes + b_bytes;
	static constexpr int down = Shares == WalkedShares::b ? Cluster : 1, across = Cluster / down; // tiles of a cluster
	static constexpr int own_a = m / across, own_b = n / down; // rows of each operand that a block brings
	static constexpr int full = Stages * stage_bytes, empty = full + 8 * Stages, bytes = empty + 8 * Stages + tile_alignment;
	static constexpr int producer_registers = 40, consumer_registers = 232; // 40 + 2 * 232 = 3 * 168
};

// WalkedPart says where a matrix of an operand begins in its map: the coordinates of its first row as memory has rows, and of what holds all rows.
struct WalkedPart {
	int row, head, batch;
};

// WalkedPlace is a tile of the result: its matrix has `rows` rows, from row `first` of all of them on; its own first row and column in the matrix; and
// the steps of its reduction, at least one.
struct WalkedPlace {
	int64_t first, rows, row, col;
	int steps;
};

// A work describes one launch: maps a and b, and
//   seek(walk, tile)          whether there is tile `tile`, of those of clusters. Each warp has a Walk, and all of its lanes seek together, never back
//   place(walk, tile, rank)   the tile of a block of the cluster
//   part_a, part_b(walk)      the parts of the operands
//   count()                   on the host: how many tiles there are at most

// walked_place is the tile of a block, of a cluster's place.
template <class Tile> __device__ inline WalkedPlace walked_place(const TilePlace &at, int rank, int64_t first, int64_t rows, int steps) {
	const int down = Tile::down > 1 ? rank : 0, across = Tile::across > 1 ? rank : 0;
	return {first, rows, (at.m * Tile::down + down) * Tile::m, (at.n * Tile::across + across) * Tile::n, steps};
}

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// copy_operand brings Rows rows from row0 on and 64 words of the reduction, to every block of the cluster if Cluster > 1.
template <int Rows, bool AlongK, int Cluster>
__device__ inline void copy_operand(uint32_t to, const HeadMap &map, const WalkedPart &part, int row0, int k0, uint32_t full) {
	const auto box = [&](uint32_t at, int column, int row) {
		constexpr uint16_t all = (1u << Cluster) - 1;
		if constexpr (Cluster > 1) copy_rows_to_each(at, &map, column, part.row + row, part.head, part.batch, full, all);
		else copy_rows(at, &map, column, part.row + row, part.head, part.batch, full);
	};
	if constexpr (AlongK) {
		box(to, k0, row0);
	} else {
#pragma unroll
		for (int i = 0; i < Rows; i += box_columns) box(to + i * tile_row_bytes, row0 + i, k0);
	}
}

// produce_walked is the producer warp: all lanes look for tiles, the first one copies.
template <class Tile, bool AlongKA, bool AlongKB, class Work> __device__ inline void produce_walked(const Work &work, uint32_t memory, int rank) {
	const bool copies = threadIdx.x == 0;
	const int shared_a = Tile::across > 1 ? rank * Tile::own_a : 0, shared_b = Tile::down > 1 ? rank * Tile::own_b : 0;
	RingPlace<Tile::stages> at;
	typename Work::Walk walk = {};
	for (int64_t tile = blockIdx.x / Tile::cluster; work.seek(walk, tile); tile += gridDim.x / Tile::cluster) {
		const WalkedPlace place = work.place(walk, tile, rank);
		const WalkedPart part_a = work.part_a(walk), part_b = work.part_b(walk);
		const int row0 = static_cast<int>(place.row) + shared_a, col0 = static_cast<int>(place.col) + shared_b;
		for (int step = 0; copies && step < place.steps; step++, at.next()) {
			const uint32_t stage = memory + at.stage * Tile::stage_bytes, full = memory + Tile::full + 8 * at.stage;
			barrier_wait(memory + Tile::empty + 8 * at.stage, at.parity ^ 1);
			barrier_arrive_expecting(full, Tile::stage_bytes);
			copy_operand<Tile::own_a, AlongKA, Tile::across>(stage + shared_a * tile_row_bytes, work.a, part_a, row0, step * Tile::k, full);
			copy_operand<Tile::own_b, AlongKB, Tile::down>(stage + Tile::a_bytes + shared_b * tile_row_bytes, work.b, part_b, col0, step * Tile::k,
			                                               full);
		}
	}
	// A block may not end while the other one can still arrive at its barriers.
	for (int stage = 0; copies && stage < Tile::stages; stage++, at.next()) barrier_wait(memory + Tile::empty + 8 * at.stage, at.parity ^ 1);
}

// consume_walked is a consumer warpgroup: multiply(d, a, b, add) with the addresses of its 64 rows of a and of b in shared memory starts their product
// of a stage. store(d, place) is called after the last product of a tile, with the place of the consumer's rows.
template <class Tile, class Work, class Multiply, class Store>
__device__ inline void consume_walked(const Work &work, uint32_t memory, int rank, int consumer, Multiply multiply, Store store) {
	const int lane = static_cast<int>(threadIdx.x) % 32;
	const auto release = [&](int stage) {
		const uint32_t empty = memory + Tile::empty + 8 * stage;
		if constexpr (Tile::cluster > 1) {
			if (lane < Tile::cluster) barrier_arrive_at(empty, lane);
		} else {
			if (lane == 0) barrier_arrive(empty);
		}
	};
	const int first_row = consumer * mma_rows;
	RingPlace<Tile::stages> at;
	typename Work::Walk walk = {};
	for (int64_t tile = blockIdx.x / Tile::cluster; work.seek(walk, tile); tile += gridDim.x / Tile::cluster) {
		WalkedPlace place = work.place(walk, tile, rank);
		place.row += first_row;
		if (place.row >= place.rows) {
			for (int step = 0; step < place.steps; step++, at.next()) {
				barrier_wait(memory + Tile::full + 8 * at.stage, at.parity);
				release(at.stage);
			}
			continue;
		}
		typename Tile::Sums d;
		int before = 0; // the stage of the product in flight
		for (int step = 0; step < place.steps; step++, at.next()) {
			const uint32_t stage = memory + at.stage * Tile::stage_bytes;
			barrier_wait(memory + Tile::full + 8 * at.stage, at.parity);
			fence();
			// 64 rows are 64 lines of a tile along k, or one panel of one across it: 8 KB in both.
			multiply(d, stage + first_row * tile_row_bytes, stage + Tile::a_bytes, step > 0);
			commit();
			if (step > 0) {
				wait_for<1>();
				release(before);
			}
			before = at.stage;
		}
		wait_for<0>();
		changed(d);
		release(before);
		store(d, place);
	}
}

// run_walked is a kernel's body.
template <class Tile, bool AlongKA, bool AlongKB, class Work, class Multiply, class Store>
__device__ inline void run_walked(const Work &work, unsigned char *tiles, Multiply multiply, Store store) {
	const uint32_t memory = (shared_address(tiles) + tile_alignment - 1) / tile_alignment * tile_alignment;
	const int rank = Tile::cluster > 1 ? static_cast<int>(cluster_rank()) : 0;
	if (threadIdx.x == 0) {
		prefetch_map(&work.a);
		prefetch_map(&work.b);
		for (int stage = 0; stage < Tile::stages; stage++) {
			barrier_init(memory + Tile::full + 8 * stage, 1);
			barrier_init(memory + Tile::empty + 8 * stage, Tile::consumers * 4 * Tile::cluster); // one arrival of each warp that reads it
		}
		fence_init();
	}
	__syncthreads();
	if constexpr (Tile::cluster > 1) {
		cluster_arrive();
		cluster_wait();
	}
	const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / Tile::warpgroup, 0);
	if (group == 0) {
		give_registers<Tile::producer_registers>();
		if (threadIdx.x < 32) produce_walked<Tile, AlongKA, AlongKB>(work, memory, rank);
	} else {
		take_registers<Tile::consumer_registers>();
		consume_walked<Tile>(work, memory, rank, group - 1, multiply, store);
	}
}
#endif

// WalkedSource is an operand in memory: strides in 16-bit words, of a dim of one element unused; `along` the reduction its words lie side by side, or
// across it, along its rows.
struct WalkedSource {
	const void *data;
	int64_t batch_stride, stride;
	bool along;
};

// map_matrices makes the map of an operand, of boxes of so many rows: 0, or CUDA's error code.
inline int map_matrices(HeadMap *map, const WalkedSource &x, int64_t batch, int64_t rows, int64_t k, int box_rows) {
	const HeadSizes sizes = {x.batch_stride != 0 ? batch : 1, 1, x.along ? rows : k, x.along ? k : rows, x.batch_stride, 0, x.stride};
	return map_heads(map, x.data, sizes, x.along ? box_rows : box_columns);
}

// launch_walked starts a kernel of this pipeline: its parameters, the last of which is the work.
template <class Tile, class Work, class... Parameters, class... Arguments>
int launch_walked(void (*kernel)(Parameters...), const Work &work, cudaStream_t stream, Arguments... arguments) {
	const int64_t most = std::max(1, device_attribute(cudaDevAttrMultiProcessorCount) / Tile::cluster);
	const unsigned clusters = static_cast<unsigned>(std::min<int64_t>(work.count(), most));
	if (const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::bytes))
		return cleared(static_cast<int>(status));
	if (const int status = launch_clusters(kernel, clusters, Tile::cluster, Tile::threads, Tile::bytes, stream, arguments..., work))
		return cleared(status);
	return launched();
}

} // namespace hopper
} // namespace triad
#endif
