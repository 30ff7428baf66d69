// sm90_tma.cuh: gemm of 16-bit operands on Hopper's tensor cores (wgmma, sm_90a), whose tiles the copy engine (TMA) brings.
//   Two blocks of a cluster lie below each other: each multiplies 128 rows of a by the same 256 columns of b, brings its own rows of a, and
//   half of the tile of b for both of them (multicast). So the L2 cache gives 32 KB for 2 x 128 x 256 x 64 products instead of 48.
//   A block has three warpgroups. One thread of the first, the producer, keeps a ring of stages filled; the other two, the consumers,
//   multiply 64 rows each by all columns, and keep one product in flight while they hand back the stage of the product before:
//
//       producer    wait empty[s]       (both blocks' consumers have read it)     copy a, half of b -> full[s] of both
//       consumer    wait full[s]        start stage s     wait for stage s - 1    arrive at empty[s - 1] of both blocks
//
//   Clusters are persistent and take tiles in the order of `TileOrder`; the producer is ahead of the consumers, and fills the ring for
//   the next tile while these write y. An operand lies along the reduction or across it: the tensor core reads both.
#ifndef TRIAD_GEMM_SM90_TMA_CUH
#define TRIAD_GEMM_SM90_TMA_CUH
#include <algorithm>

#include "product.cuh"
#include "hopper/arithmetic.cuh"
#include "hopper/barrier.cuh"
#include "hopper/cluster.cuh"
#include "hopper/head_map.cuh"
#include "hopper/swizzle.cuh"
#include "hopper/wgmma_half.cuh"
#include "quad.cuh"
#include "sm80_mma.cuh"
#include "tile_order.cuh"
#include "wgmma_tile.cuh"

namespace triad {
namespace gemm {

// TmaTile divides a tile of y and a block's shared memory: the ring, a stage of which holds a and then b, and the barriers.
template <int Cluster, int Stages> struct TmaTile {
	static constexpr int cluster = Cluster, stages = Stages;
	static constexpr int m = 128, n = 256, k = 64, warpgroup = 128, consumers = 2, threads = warpgroup * (1 + consumers);
	static constexpr int panel = hopper::box_columns;          // elements of 128 bytes
	static constexpr int panel_bytes = k * panel * 2;          // of 64 rows or columns that lie across the reduction
	static constexpr int a_bytes = m * k * 2, b_bytes = n * k * 2, stage_bytes = a_bytes + b_bytes;
	static constexpr int part = n / Cluster;                   // columns of b that a block brings
	static constexpr int full = Stages * stage_bytes, empty = full + 8 * Stages, used = empty + 8 * Stages;
	static constexpr int bytes = used + hopper::tile_alignment;
	static constexpr int producer_registers = 40, consumer_registers = 232; // 40 + 2 * 232 = 3 * 168
};

// TmaOperand is an operand as the copy engine reads it; batch_step is 0 where all matrices are the same memory.
struct TmaOperand {
	hopper::HeadMap map;
	int batch_step;
};

// TmaOrder: the tiles of clusters of one matrix after another.
struct TmaOrder {
	TileOrder matrix;
	int64_t batch;

	__host__ __device__ int64_t count() const { return matrix.count() * batch; }
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// copy_operand brings Rows rows from row0 on and 64 of the reduction, to every block of the cluster if Cluster > 1.
template <int Rows, bool AlongK, int Cluster>
__device__ inline void copy_operand(uint32_t to, const TmaOperand &x, int row0, int k0, int matrix, uint32_t full) {
	const auto box = [&](uint32_t at, int column, int row) {
		constexpr uint16_t all = (1u << Cluster) - 1;
		if constexpr (Cluster > 1) hopper::copy_rows_to_each(at, &x.map, column, row, 0, matrix * x.batch_step, full, all);
		else hopper::copy_rows(at, &x.map, column, row, 0, matrix * x.batch_step, full);
	};
	if constexpr (AlongK) {
		box(to, k0, row0);
	} else {
#pragma unroll
		for (int i = 0; i < Rows; i += hopper::box_columns) box(to + i * hopper::tile_row_bytes, row0 + i, k0);
	}
}

template <class T, class Tile, bool AlongKA, bool AlongKB>
__device__ inline void produce(const Product<T> &p, const TmaOperand &a, const TmaOperand &b, const TmaOrder &order, uint32_t memory,
                               int rank, int steps) {
	RingPlace<Tile::stages> at;
	for (int64_t tile = blockIdx.x / Tile::cluster; tile < order.count(); tile += gridDim.x / Tile::cluster) {
		const TilePlace place = order.matrix.place(tile % order.matrix.count());
		const int matrix = static_cast<int>(tile / order.matrix.count());
		const int row0 = (static_cast<int>(place.m) * Tile::cluster + rank) * Tile::m;
		const int col0 = static_cast<int>(place.n) * Tile::n + rank * Tile::part;
		for (int step = 0; step < steps; step++, at.next()) {
			const uint32_t stage = memory + at.stage * Tile::stage_bytes, full = memory + Tile::full + 8 * at.stage;
			hopper::barrier_wait(memory + Tile::empty + 8 * at.stage, at.parity ^ 1);
			hopper::barrier_arrive_expecting(full, Tile::stage_bytes);
			copy_operand<Tile::m, AlongKA, 1>(stage, a, row0, step * Tile::k, matrix, full);
			copy_operand<Tile::part, AlongKB, Tile::cluster>(stage + Tile::a_bytes + rank * Tile::part * hopper::tile_row_bytes, b, col0,
			                                                 step * Tile::k, matrix, full);
		}
	}
	// A block may not end while the other one can still arrive at its barriers.
	for (int stage = 0; stage < Tile::stages; stage++, at.next()) hopper::barrier_wait(memory + Tile::empty + 8 * at.stage, at.parity ^ 1);
}

// TmaSums are a thread's share of the product of a consumer: 64 rows, all columns.
template <class T, class Tile> struct TmaSums {
	float d[Tile::n / 8][4];

	template <bool AlongKA, bool AlongKB> __device__ void multiply(uint32_t stage, int consumer, bool add) {
		// A consumer's 64 rows are 64 lines of a tile along k, or one panel of one across it: 8 KB in both.
		constexpr int half = hopper::mma_rows * hopper::tile_row_bytes;
		const uint32_t a_tile = stage + consumer * half, b_tile = stage + Tile::a_bytes;
		const uint64_t a = AlongKA ? hopper::tile_descriptor(a_tile) : hopper::across_descriptor(a_tile, Tile::panel_bytes);
		const uint64_t b = AlongKB ? hopper::tile_descriptor(b_tile) : hopper::across_descriptor(b_tile, Tile::panel_bytes);
		constexpr int across = 16 * hopper::tile_row_bytes; // to the next 16 of the reduction
#pragma unroll
		for (int i = 0; i < Tile::k / 16; i++)
			hopper::WarpgroupMultiply<T>::template any<!AlongKA, !AlongKB>(
				d, hopper::advanced(a, i * (AlongKA ? hopper::mma_k_bytes : across)),
				hopper::advanced(b, i * (AlongKB ? hopper::mma_k_bytes : across)), add || i > 0);
	}

	// store writes y: `row` is this thread's first row, the other one is 8 below. wide: rows of y are whole vectors of 16 bytes.
	__device__ void store(const Product<T> &p, int64_t matrix, int64_t row, int64_t col0, bool wide) {
		const int lane = static_cast<int>(threadIdx.x) % 4;
		if (p.c != nullptr || !wide) return store_each(p, matrix, row, col0 + 2 * lane);
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const int64_t r = row + 8 * half;
			const int columns = r < p.m ? static_cast<int>(min(p.n - col0, static_cast<int64_t>(Tile::n))) : 0;
			T *const line = p.y + (matrix * p.m + r) * p.n + col0 + 8 * lane;
#pragma unroll
			for (int group = 0; group < Tile::n / 32; group++) {
				uint32_t words[4];
#pragma unroll
				for (int j = 0; j < 4; j++) {
					const float(&pair)[4] = d[4 * group + j];
					words[j] = pair_of(T(), p.alpha * pair[2 * half], p.alpha * pair[2 * half + 1]);
				}
				transpose_quad(words, lane);
				if (32 * group + 8 * lane < columns)
					__stcs(reinterpret_cast<uint4 *>(line + 32 * group), make_uint4(words[0], words[1], words[2], words[3]));
			}
		}
	}

	// store_each: one element at a time, col is this thread's first column.
	__device__ void store_each(const Product<T> &p, int64_t matrix, int64_t row, int64_t col) {
#pragma unroll
		for (int half = 0; half < 2; half++) {
			const int64_t r = row + 8 * half;
			const int columns = r < p.m ? static_cast<int>(min(p.n - col, static_cast<int64_t>(Tile::n))) : 0;
			int64_t at = (matrix * p.m + r) * p.n + col;
#pragma unroll
			for (int j = 0; j < Tile::n / 8; j++, at = hopper::fresh(at + 8)) {
#pragma unroll
				for (int e = 0; e < 2; e++) {
					if (8 * j + e >= columns) continue;
					float value = p.alpha * d[j][2 * half + e];
					if (p.c != nullptr) value += p.beta * to_float(p.c[at + e]);
					p.y[at + e] = from_float<T>(value);
				}
			}
		}
	}
};

template <class T, class Tile, bool AlongKA, bool AlongKB>
__device__ inline void consume(const Product<T> &p, const TmaOrder &order, uint32_t memory, int rank, int steps, int consumer, bool wide) {
	const int thread = static_cast<int>(threadIdx.x) % Tile::warpgroup, lane = thread % 32;
	const auto release = [&](int stage) {
		const uint32_t empty = memory + Tile::empty + 8 * stage;
		if constexpr (Tile::cluster > 1) {
			if (lane < Tile::cluster) hopper::barrier_arrive_at(empty, lane);
		} else {
			if (lane == 0) hopper::barrier_arrive(empty);
		}
	};
	RingPlace<Tile::stages> at;
	for (int64_t tile = blockIdx.x / Tile::cluster; tile < order.count(); tile += gridDim.x / Tile::cluster) {
		const TilePlace place = order.matrix.place(tile % order.matrix.count());
		TmaSums<T, Tile> sums;
		int before = 0; // the stage of the product in flight
		for (int step = 0; step < steps; step++, at.next()) {
			hopper::barrier_wait(memory + Tile::full + 8 * at.stage, at.parity);
			hopper::fence();
			sums.template multiply<AlongKA, AlongKB>(memory + at.stage * Tile::stage_bytes, consumer, step > 0);
			hopper::commit();
			if (step > 0) {
				hopper::wait_for<1>();
				release(before);
			}
			before = at.stage;
		}
		hopper::wait_for<0>();
		hopper::changed(sums.d);
		release(before);
		const int64_t block_row = (place.m * Tile::cluster + rank) * Tile::m;
		const int64_t row = block_row + consumer * hopper::mma_rows + hopper::accumulator_row(thread, 0);
		sums.store(p, tile / order.matrix.count(), row, place.n * Tile::n, wide);
	}
}
#endif

// wide: rows of y can be written 16 bytes at a time.
template <class T, class Tile, bool AlongKA, bool AlongKB>
__global__ void __launch_bounds__(Tile::threads, 1)
    gemm_tma(const __grid_constant__ Product<T> p, const __grid_constant__ TmaOperand a, const __grid_constant__ TmaOperand b,
             const __grid_constant__ TmaOrder order, bool wide) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char gemm_tiles[];
	constexpr uint32_t aligned = hopper::tile_alignment;
	const uint32_t memory = (hopper::shared_address(gemm_tiles) + aligned - 1) / aligned * aligned;
	const int steps = static_cast<int>((p.k + Tile::k - 1) / Tile::k), rank = Tile::cluster > 1 ? hopper::cluster_rank() : 0;
	if (threadIdx.x == 0) {
		hopper::prefetch_map(&a.map);
		hopper::prefetch_map(&b.map);
		for (int stage = 0; stage < Tile::stages; stage++) {
			hopper::barrier_init(memory + Tile::full + 8 * stage, 1);
			hopper::barrier_init(memory + Tile::empty + 8 * stage, Tile::consumers * 4 * Tile::cluster); // one arrival a warp
		}
		hopper::fence_init();
	}
	__syncthreads();
	if constexpr (Tile::cluster > 1) {
		hopper::cluster_arrive();
		hopper::cluster_wait();
	}
	const int group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / Tile::warpgroup, 0);
	if (group == 0) {
		hopper::give_registers<Tile::producer_registers>();
		if (threadIdx.x == 0) produce<T, Tile, AlongKA, AlongKB>(p, a, b, order, memory, rank, steps);
	} else {
		hopper::take_registers<Tile::consumer_registers>();
		consume<T, Tile, AlongKA, AlongKB>(p, order, memory, rank, steps, group - 1, wide);
	}
#endif
}

// map_operand describes an operand of `rows` rows; box_rows of them are copied at once where it lies along the reduction.
template <class T> int map_operand(TmaOperand *to, const Operand<T> &x, int64_t batch, int64_t rows, int64_t k, bool along_k, int box_rows) {
	to->batch_step = x.batch_stride != 0;
	const int64_t matrices = to->batch_step ? batch : 1;
	const hopper::HeadSizes along = {matrices, 1, rows, k, x.batch_stride, 0, x.row_stride};
	const hopper::HeadSizes across = {matrices, 1, k, rows, x.batch_stride, 0, x.k_stride};
	return hopper::map_heads(&to->map, x.data, along_k ? along : across, along_k ? box_rows : hopper::box_columns);
}

template <class T, class Tile, bool AlongKA, bool AlongKB>
int launch_tma_tile(const Product<T> &p, int64_t height, cudaStream_t stream) {
	TmaOperand a = {}, b = {};
	if (const int status = map_operand(&a, p.a, p.batch, p.m, p.k, AlongKA, Tile::m)) return status;
	if (const int status = map_operand(&b, p.b, p.batch, p.n, p.k, AlongKB, Tile::part)) return status;
	const TmaOrder order = {{ceil_div(p.m, Tile::m * Tile::cluster), ceil_div(p.n, Tile::n), height}, p.batch};
	const int64_t most = std::max(1, device_attribute(cudaDevAttrMultiProcessorCount) / Tile::cluster);
	const unsigned clusters = static_cast<unsigned>(std::min<int64_t>(order.count(), most));
	const bool wide = p.n % 8 == 0 && reinterpret_cast<uintptr_t>(p.y) % 16 == 0;
	void (*const kernel)(Product<T>, TmaOperand, TmaOperand, TmaOrder, bool) = gemm_tma<T, Tile, AlongKA, AlongKB>;
	if (const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::bytes))
		return cleared(static_cast<int>(status));
	if (const int status = hopper::launch_clusters(kernel, clusters, Tile::cluster, Tile::threads, Tile::bytes, stream, p, a, b, order, wide))
		return cleared(status);
	return launched();
}

template <class T, class Tile, int Height> int sm90_tma_tile(const triad_call *call) {
	return each_product<T>(call, [](const Product<T> &p, cudaStream_t stream) {
		const bool a = lies_along_k(p.a, p.k), b = lies_along_k(p.b, p.k);
		const auto launch = a ? (b ? launch_tma_tile<T, Tile, true, true> : launch_tma_tile<T, Tile, true, false>)
		                      : (b ? launch_tma_tile<T, Tile, false, true> : launch_tma_tile<T, Tile, false, false>);
		return launch(p, Height, stream);
	});
}

template <class T> int sm90_tma(const triad_call *call) { return sm90_tma_tile<T, TmaTile<2, 4>, 8>(call); }

// check_tma is a limit beside check_packs: what the copy engine's maps can say.
inline void check_tma(Check &check, const triad_call *call) {
	static const char *const names[] = {"a", "b", "grad_y"};
	for (int i = 0; i < (is_backward(call) ? 3 : 2); i++) {
		const triad_tensor &t = call->in[i];
		const bool across = t.stride[2] != 1 || t.shape[2] % Mma::chunk != 0;
		const int beside = across ? 2 : 1;
		const long long rows = t.shape[1], columns = t.shape[2];
		check.that(elements(t) > 0, "%s has no elements", names[i]);
		check.that(rows < INT32_MAX && columns < INT32_MAX && t.shape[0] < INT32_MAX, "%s has %lld x %lld elements: want below 2^31 - 1",
		           names[i], rows, columns);
		check.that(t.shape[beside] == 1 || (t.stride[beside] > 0 && t.stride[beside] < int64_t{1} << 38),
		           "%s has a stride of %lld, want 1 to 2^38", names[i], static_cast<long long>(t.stride[beside]));
		check.that(t.shape[0] == 1 || (t.stride[0] >= 0 && t.stride[0] < int64_t{1} << 38),
		           "the matrices of %s have a stride of %lld, want 0 to 2^38", names[i], static_cast<long long>(t.stride[0]));
	}
}

} // namespace gemm
} // namespace triad
#endif
