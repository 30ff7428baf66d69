// pair_product.cuh: the pipeline of a product of two matrices on Hopper (wgmma, sm_90a), whose tiles the copy engine (TMA) brings. The matrices are
// of rows of 16-bit words, which a kernel may take for two values of 8 bits.
//   Two blocks of a cluster have tiles of 128 x 128 below each other: each brings its own rows of a, and half of the columns of b for both of
//   them (multicast). So the L2 cache gives 24 KB for a stage of 128 bytes of the reduction instead of 32.
//   A block has three warpgroups. One thread of the first, the producer, keeps a ring of stages filled. The other two, the consumers, take
//   tiles in turn: while one scales and writes its tile, the other multiplies, so that the tensor cores need not wait for an epilogue:
//
//       producer    | copies of tile 0      | copies of tile 1      | copies of tile 2      |
//       consumer 0        | multiply tile 0        | write tile 0 |         | multiply tile 2        | write tile 2 |
//       consumer 1                                 | multiply tile 1        | write tile 1 |
//
//   of which a stage s is
//
//       producer    wait empty[s]       (both blocks' consumers have read it)     copy a, half of b -> full[s] of both
//       consumer    wait full[s]        start stage s     wait for stage s - 1    arrive at empty[s - 1] of both blocks
//
//   A consumer begins when the other one has seen its last stage (named barriers 1 and 2): full[s] has two parities, and who waits for it
//   two rounds ahead goes on at once.
//   Clusters are persistent and take tiles in the order of `TileOrder`. An operand lies along the reduction or across it.
#ifndef TRIAD_HOPPER_PAIR_PRODUCT_CUH
#define TRIAD_HOPPER_PAIR_PRODUCT_CUH
#include <algorithm>

#include "arguments.cuh"
#include "hopper/barrier.cuh"
#include "hopper/cluster.cuh"
#include "hopper/head_map.cuh"
#include "hopper/named_barrier.cuh"
#include "hopper/swizzle.cuh"
#include "hopper/wgmma_half.cuh"
#include "register.cuh"
#include "tile_order.cuh"
#include "wgmma_tile.cuh"

namespace triad {
namespace hopper {

// PairTile divides a tile of the result and a block's shared memory: the ring, a stage of which holds a and then b, and the barriers. Lengths along
// the reduction are in 16-bit words. Aside bytes are for the epilogue of a consumer, from a multiple of 16 on.
template <int Cluster, int Stages, int Aside = 0> struct PairTile {
	static constexpr int cluster = Cluster, stages = Stages;
	static constexpr int m = 128, n = 128, k = 64, warpgroup = 128, consumers = 2, threads = warpgroup * (1 + consumers);
	static constexpr int parts = m / mma_rows;
	using Part = float[n / 8][4];                              // a thread's sums of 64 rows
	using Sums = Part[parts];
	static constexpr int panel_bytes = k * tile_row_bytes;     // of 64 rows or columns that lie across the reduction
	static constexpr int a_bytes = m * tile_row_bytes, b_bytes = n * tile_row_bytes, stage_bytes = a_bytes + b_bytes;
	static constexpr int part = n / Cluster;                   // columns of b that a block brings
	static constexpr int full = Stages * stage_bytes, empty = full + 8 * Stages, aside = empty + 8 * Stages;
	static constexpr int aside_bytes = (Aside + 15) / 16 * 16, bytes = aside + consumers * aside_bytes + tile_alignment;
	static constexpr int producer_registers = 40, consumer_registers = 232; // 40 + 2 * 232 = 3 * 168
};

// PairBox says where in a map the copy engine reads a box.
struct PairBox {
	int column, row, head, batch;
};

// PairOperand is an operand as the copy engine reads it; batch_step is 0 where all matrices are the same memory.
struct PairOperand {
	HeadMap map;
	int batch_step;

	// box is that of rows from `row` on, at k of the reduction.
	template <bool AlongK> __device__ PairBox box(int matrix, int row, int k) const { return {AlongK ? k : row, AlongK ? row : k, 0, matrix * batch_step}; }
};

// A work describes one launch: operands a and b, the order of tiles of clusters, `batch` matrices one after another, the steps of the reduction, and
//   walk<AlongKA, AlongKB>(matrix, row, col)   the boxes a and b of a tile's first step, from these rows of both operands on; next() takes both on
//   count()                                    how many tiles of clusters there are
// PairWork is that of products whose reduction lies in one piece.
struct PairWork {
	PairOperand a, b;
	TileOrder order;
	int64_t batch;
	int steps;

	template <bool AlongKA, bool AlongKB> struct Walk {
		PairBox a, b;

		__device__ void next() {
			(AlongKA ? a.column : a.row) += box_columns;
			(AlongKB ? b.column : b.row) += box_columns;
		}
	};

	__host__ __device__ int64_t count() const { return order.count() * batch; }

	template <bool AlongKA, bool AlongKB> __device__ Walk<AlongKA, AlongKB> walk(int matrix, int row, int col) const {
		return {a.box<AlongKA>(matrix, row, 0), b.box<AlongKB>(matrix, col, 0)};
	}
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// copy_operand brings Rows rows and 64 words of the reduction from a box on, to every block of the cluster if Cluster > 1.
template <int Rows, bool AlongK, int Cluster>
__device__ inline void copy_operand(uint32_t to, const HeadMap &map, const PairBox &from, uint32_t full) {
	constexpr uint16_t all = (1u << Cluster) - 1;
	constexpr int boxes = AlongK ? 1 : (Rows + box_columns - 1) / box_columns;
#pragma unroll
	for (int i = 0; i < boxes; i++) {
		const uint32_t at = to + i * box_columns * tile_row_bytes;
		const int column = from.column + i * box_columns;
		if constexpr (Cluster > 1) copy_rows_to_each(at, &map, column, from.row, from.head, from.batch, full, all);
		else copy_rows(at, &map, column, from.row, from.head, from.batch, full);
	}
}

template <class Tile, bool AlongKA, bool AlongKB, class Work> __device__ inline void produce_pair(const Work &work, uint32_t memory, int rank) {
	RingPlace<Tile::stages> at;
	for (int64_t tile = blockIdx.x / Tile::cluster; tile < work.count(); tile += gridDim.x / Tile::cluster) {
		const TilePlace place = work.order.place(tile % work.order.count());
		const int matrix = static_cast<int>(tile / work.order.count());
		const int row0 = (static_cast<int>(place.m) * Tile::cluster + rank) * Tile::m;
		const int col0 = static_cast<int>(place.n) * Tile::n + rank * Tile::part;
		auto boxes = work.template walk<AlongKA, AlongKB>(matrix, row0, col0);
		for (int step = 0; step < work.steps; step++, at.next(), boxes.next()) {
			const uint32_t stage = memory + at.stage * Tile::stage_bytes, full = memory + Tile::full + 8 * at.stage;
			barrier_wait(memory + Tile::empty + 8 * at.stage, at.parity ^ 1);
			barrier_arrive_expecting(full, Tile::stage_bytes);
			copy_operand<Tile::m, AlongKA, 1>(stage, work.a.map, boxes.a, full);
			copy_operand<Tile::part, AlongKB, Tile::cluster>(stage + Tile::a_bytes + rank * Tile::part * tile_row_bytes, work.b.map, boxes.b, full);
		}
	}
	// A block may not end while the other one can still arrive at its barriers.
	for (int stage = 0; stage < Tile::stages; stage++, at.next()) barrier_wait(memory + Tile::empty + 8 * at.stage, at.parity ^ 1);
}

// PairPlace is a tile of a matrix: its first row and column.
struct PairPlace {
	int64_t matrix, row, col;
};

// consume_pair is what a consumer does: multiply(d, a, b, add) with the addresses of 64 rows of a and of b in shared memory starts their product of a
// stage. epilogue.begin(place) is called before the first product of a tile, epilogue.store(d, place) after the last one.
template <class Tile, class Work, class Multiply, class Epilogue>
__device__ inline void consume_pair(const Work &work, uint32_t memory, int rank, int consumer, Multiply multiply, Epilogue epilogue) {
	const int lane = static_cast<int>(threadIdx.x) % 32;
	const auto release = [&](int stage) {
		const uint32_t empty = memory + Tile::empty + 8 * stage;
		if constexpr (Tile::cluster > 1) {
			if (lane < Tile::cluster) barrier_arrive_at(empty, lane);
		} else {
			if (lane == 0) barrier_arrive(empty);
		}
	};
	constexpr int both = Tile::warpgroup * Tile::consumers;
	const auto turn_of = [](int which) { return 1 + which; };
	const int64_t clusters = gridDim.x / Tile::cluster;
	int64_t tile = blockIdx.x / Tile::cluster;
	RingPlace<Tile::stages> at;
	if (consumer == 1) {
		named_arrive(turn_of(0), both);
		at.skip(work.steps);
		tile += clusters;
	}
	for (; tile < work.count(); tile += Tile::consumers * clusters) {
		const TilePlace tiles = work.order.place(tile % work.order.count());
		const PairPlace place = {tile / work.order.count(), (tiles.m * Tile::cluster + rank) * Tile::m, tiles.n * Tile::n};
		epilogue.begin(place);
		named_sync(turn_of(consumer), both);
		typename Tile::Sums d;
		int before = 0; // the stage of the product in flight
		for (int step = 0; step < work.steps; step++, at.next()) {
			const uint32_t stage = memory + at.stage * Tile::stage_bytes;
			barrier_wait(memory + Tile::full + 8 * at.stage, at.parity);
			fence();
			// 64 rows are 64 lines of a tile along k, or one panel of one across it: 8 KB in both.
#pragma unroll
			for (int part = 0; part < Tile::parts; part++)
				multiply(d[part], stage + part * mma_rows * tile_row_bytes, stage + Tile::a_bytes, step > 0);
			commit();
			if (step > 0) {
				wait_for<1>();
				release(before);
			}
			before = at.stage;
		}
		if (tile + clusters < work.count()) named_arrive(turn_of(1 - consumer), both);
		wait_for<0>();
#pragma unroll
		for (auto &part : d) changed(part);
		release(before);
		at.skip(work.steps); // of the other one's tile
		epilogue.store(d, place);
	}
}

// run_pair is a kernel's body. epilogue(aside, consumer) gives the epilogue of a consumer, which has Aside bytes of shared memory from aside on.
template <class Tile, bool AlongKA, bool AlongKB, class Work, class Multiply, class Epilogue>
__device__ inline void run_pair(const Work &work, unsigned char *tiles, Multiply multiply, Epilogue epilogue) {
	const uint32_t memory = (shared_address(tiles) + tile_alignment - 1) / tile_alignment * tile_alignment;
	const int rank = Tile::cluster > 1 ? static_cast<int>(cluster_rank()) : 0;
	if (threadIdx.x == 0) {
		prefetch_map(&work.a.map);
		prefetch_map(&work.b.map);
		for (int stage = 0; stage < Tile::stages; stage++) {
			barrier_init(memory + Tile::full + 8 * stage, 1);
			barrier_init(memory + Tile::empty + 8 * stage, 4 * Tile::cluster); // one arrival of each warp that reads it
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
		if (threadIdx.x == 0) produce_pair<Tile, AlongKA, AlongKB>(work, memory, rank);
	} else {
		take_registers<Tile::consumer_registers>();
		const int consumer = group - 1;
		consume_pair<Tile>(work, memory, rank, consumer, multiply, epilogue(memory + Tile::aside + consumer * Tile::aside_bytes, consumer));
	}
}
#endif

// PairSource is an operand in memory: strides in 16-bit words, of a dim of one element unused; `along` the reduction its words lie side by side, or
// across it, along its rows.
struct PairSource {
	const void *data;
	int64_t batch_stride, stride;
	bool along;
};

// map_pair fills in a launch's work, of batch products [m, k] [n, k]^T; 0, or CUDA's error code.
template <class Tile>
int map_pair(PairWork *work, const PairSource &a, const PairSource &b, int64_t batch, int64_t m, int64_t n, int64_t k,
             int64_t height) {
	const auto map = [&](PairOperand *to, const PairSource &x, int64_t rows, int box_rows) {
		to->batch_step = x.batch_stride != 0;
		const int64_t matrices = to->batch_step ? batch : 1;
		const HeadSizes sizes = {matrices, 1, x.along ? rows : k, x.along ? k : rows, x.batch_stride, 0, x.stride};
		return map_heads(&to->map, x.data, sizes, x.along ? box_rows : box_columns);
	};
	if (const int status = map(&work->a, a, m, Tile::m)) return status;
	if (const int status = map(&work->b, b, n, Tile::part)) return status;
	const auto ceil_div = [](int64_t x, int64_t y) { return (x + y - 1) / y; };
	work->order = {ceil_div(m, Tile::m * Tile::cluster), ceil_div(n, Tile::n), height};
	work->batch = batch;
	work->steps = static_cast<int>(ceil_div(k, Tile::k));
	return 0;
}

// launch_pair starts a kernel of this pipeline: its parameters, the last of which is the work.
template <class Tile, class Work, class... Parameters, class... Arguments>
int launch_pair(void (*kernel)(Parameters...), const Work &work, cudaStream_t stream, Arguments... arguments) {
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
