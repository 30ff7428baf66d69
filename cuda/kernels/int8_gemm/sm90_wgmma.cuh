// sm90_wgmma.cuh: int8_gemm on Hopper's tensor cores (wgmma, sm_90a), with int32 sums.
//     c^T = b^T a^T + zero points, quantised (wgmma_parts.cuh)
//   A persistent block takes tiles of 256 rows and 128 columns of c in turn. One thread of its first warpgroup keeps a ring of stages filled by the
//   copy engine, each with 128 of the reduction. The other two, the consumers, each have 64 columns and all rows:
//
//       producer    wait empty[s]     copy a, b -> full[s]
//       consumer    wait full[s]      turn its columns of b round, into registers     start stage s     add up rows of a     wait     arrive at empty[s]
//
//   While one of them turns columns round or waits, the other one's products run.
//   Where c has few tiles, see wgmma_few_rows.cuh.
#ifndef TRIAD_INT8_GEMM_SM90_WGMMA_CUH
#define TRIAD_INT8_GEMM_SM90_WGMMA_CUH
#include <algorithm>

#include "capability.cuh"
#include "hopper/barrier.cuh"
#include "hopper/named_barrier.cuh"
#include "register.cuh"
#include "tile_order.cuh"
#include "wgmma_few_rows.cuh"
#include "wgmma_parts.cuh"
#include "wgmma_tile.cuh"

namespace triad {
namespace int8_gemm {

// Large is a tile of fp8's products, whose operand b here lies across the reduction, and beyond it the sums of rows of two tiles.
struct Large : WgmmaTile<2> {
	static constexpr int workers = consumers * warpgroup, rows_at = WgmmaTile<2>::stages * (stage_bytes + 16);
	static constexpr int bytes = hopper::tile_alignment + rows_at + 2 * m * static_cast<int>(sizeof(int));
	static constexpr int producer_registers = 40, consumer_registers = 232;
	using Sums = int[m / 8][4];
};
static_assert(Large::n == columns_wide && Large::k == depth && Large::m == Large::workers, "a thread a row");

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
struct LargeBlock {
	const Maps &maps;
	const Scaler &scaler;
	const TileOrder &order;
	int8_t *c;
	int64_t m, n;
	int k;
	unsigned char *start;
	hopper::SharedAddress memory;

	__device__ int steps() const { return (k + depth - 1) / depth; }

	__device__ void produce() const {
		RingPlace<Large::stages> at;
		for (int64_t tile = blockIdx.x; tile < order.count(); tile += gridDim.x) {
			const TilePlace place = order.place(tile);
			const int row = static_cast<int>(place.m) * Large::m, col = static_cast<int>(place.n) * Large::n;
			for (int step = 0; step < steps(); step++, at.next()) {
				const hopper::SharedAddress full = memory + Large::full(at.stage);
				hopper::barrier_wait(memory + Large::empty(at.stage), at.parity ^ 1);
				hopper::barrier_arrive_expecting(full, Large::stage_bytes);
				maps.copy(memory + Large::a(at.stage), memory + Large::b(at.stage), full, row, col, step * depth);
			}
		}
	}

	__device__ void consume() const {
		const int worker = static_cast<int>(threadIdx.x) - Large::warpgroup, warp = worker / 32;
		int *shared_rows = reinterpret_cast<int *>(start + Large::rows_at), *next_rows = shared_rows + Large::m;
		WarpColumns columns;
		RowSums<Large::m, Large::workers> rows;
		RingPlace<Large::stages> at;
		for (int64_t tile = blockIdx.x; tile < order.count(); tile += gridDim.x) {
			Large::Sums d;
			for (int step = 0; step < steps(); step++, at.next()) {
				hopper::barrier_wait(memory + Large::full(at.stage), at.parity);
				uint32_t a[products][4];
				columns.load(a, memory + Large::b(at.stage), warp);
				const uint64_t b = hopper::tile_descriptor(memory + Large::a(at.stage));
				hopper::fence();
#pragma unroll
				for (int i = 0; i < products; i++) hopper::multiply_int8(d, a[i], hopper::advanced(b, i * hopper::mma_k_bytes), step > 0 || i > 0);
				hopper::commit();
				if (scaler.zero_a != 0) columns.add(a);
				if (scaler.zero_b != 0) rows.add(start + Large::a(at.stage), worker);
				hopper::wait_for<0>();
				if (threadIdx.x % 32 == 0) hopper::barrier_arrive(memory + Large::empty(at.stage));
			}
			hopper::changed(d);
			const TilePlace place = order.place(tile);
			rows.share(shared_rows, scaler, worker);
			int terms[2];
			columns.terms(terms, scaler, k);
			hopper::named_sync(1, Large::workers);
			store(d, shared_rows, terms, place.m * Large::m, place.n * Large::n + warp * warp_columns);
			int *const read = shared_rows; // others may still read them
			shared_rows = next_rows, next_rows = read;
		}
	}

	__device__ void store(const Large::Sums &d, const int *rows, const int (&terms)[2], int64_t row, int64_t col) const {
		constexpr int eights = 4;
#pragma unroll
		for (int first = 0; first < Large::m / 8; first += eights) {
			int y[eights][4];
#pragma unroll
			for (int j = 0; j < eights; j++)
#pragma unroll
				for (int e = 0; e < 4; e++) y[j][e] = d[first + j][e];
			take_zeros(y, rows + 8 * first, terms);
			store_columns(c, m, n, scaler, y, row + 8 * first, col);
		}
	}
};
#endif

static __global__ void __launch_bounds__(Large::threads, 1)
    int8_wgmma(const __grid_constant__ Maps maps, const __grid_constant__ Scaler scaler, const __grid_constant__ TileOrder order, int8_t *c, int64_t m,
               int64_t n, int k) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char int8_tiles[];
	constexpr uint32_t aligned = hopper::tile_alignment;
	unsigned char *const start = int8_tiles + (aligned - static_cast<uint32_t>(hopper::shared_address(int8_tiles)) % aligned) % aligned;
	const LargeBlock block = {maps, scaler, order, c, m, n, k, start, hopper::shared_address(start)};
	if (threadIdx.x == 0) {
		maps.prefetch();
		for (int s = 0; s < Large::stages; s++) {
			hopper::barrier_init(block.memory + Large::full(s), 1);
			hopper::barrier_init(block.memory + Large::empty(s), Large::workers / 32); // one arrival a warp
		}
		hopper::fence_init();
	}
	__syncthreads();
	if (__shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / Large::warpgroup, 0) == 0) {
		hopper::give_registers<Large::producer_registers>();
		if (threadIdx.x == 0) block.produce();
	} else {
		hopper::take_registers<Large::consumer_registers>();
		block.consume();
	}
#endif
}

inline int sm90_wgmma(const triad_call *call) {
	const triad_tensor &a = call->in[0], &b = call->in[1], &c = call->out[0];
	const int64_t m = c.shape[0], n = c.shape[1];
	const int multiprocessors = std::max(1, device_attribute(cudaDevAttrMultiProcessorCount));
	if (m == 0) return TRIAD_OK;
	if (few_row_tiles(m, n) <= multiprocessors || m <= FewRows::m) return launch_few_rows(call);
	Maps maps;
	if (const int status = map_operands(&maps, a, b, Large::m)) return status;
	const TileOrder order = {(m + Large::m - 1) / Large::m, (n + Large::n - 1) / Large::n, 8};
	const unsigned blocks = static_cast<unsigned>(std::min<int64_t>(order.count(), multiprocessors));
	if (const cudaError_t status = cudaFuncSetAttribute(int8_wgmma, cudaFuncAttributeMaxDynamicSharedMemorySize, Large::bytes))
		return cleared(static_cast<int>(status));
	int8_wgmma<<<blocks, Large::threads, Large::bytes, stream_of(call)>>>(maps, Scaler(call), order, static_cast<int8_t *>(c.data), m, n,
	                                                                      static_cast<int>(a.shape[1]));
	return launched();
}

// check_maps is a limit: what the copy engine's maps can say.
inline void check_maps(Check &check, const triad_call *call) {
	for (int i = 0; i < 2; i++) {
		const triad_tensor &t = call->in[i];
		const long long rows = t.shape[0], columns = t.shape[1], stride = t.stride[0];
		check.that(rows < INT32_MAX && columns < INT32_MAX, "operand %d has %lld x %lld elements: want below 2^31 - 1", i, rows, columns);
		check.that(rows <= 1 || (stride >= columns && stride < int64_t{1} << 39), "the rows of operand %d have a stride of %lld, want %lld to 2^39", i, stride,
		           columns);
	}
}

inline Limits wgmma_limits() {
	return {wgmma_capability(), vector_rows("a", "b"), aligned(16, "c"), limit("strides that a tensor map can have", check_maps)};
}

} // namespace int8_gemm
} // namespace triad
#endif
