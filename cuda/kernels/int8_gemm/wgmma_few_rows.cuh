// wgmma_few_rows.cuh: sm90_wgmma where c has few tiles, by the pipeline of hopper/few_rows.cuh: a block multiplies 64 rows of a by 128 columns of b, or
// by a part of their reduction. Zero points are taken off the sums of each part, so that the parts need only be added up.
#ifndef TRIAD_INT8_GEMM_WGMMA_FEW_ROWS_CUH
#define TRIAD_INT8_GEMM_WGMMA_FEW_ROWS_CUH
#include "hopper/few_rows.cuh"
#include "hopper/named_barrier.cuh"
#include "wgmma_parts.cuh"

namespace triad {
namespace int8_gemm {

struct FewRows {
	static constexpr int m = 64, n = columns_wide, a_bytes = m * depth, stage_bytes = a_bytes + n * depth, consumers = n / hopper::mma_rows;
	static constexpr int row_bytes = m * static_cast<int>(sizeof(int)); // sums of rows of a, of two tiles
	using Tile = hopper::FewRowsTile<consumers, stage_bytes, 7, 2 * row_bytes>;
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
struct FewRowsProduct {
	const Maps &maps;
	const Scaler &scaler;
	int8_t *c;
	int m, n, k, tiles_m;
	int *shared_rows; // of two tiles
	int turn = 0;
	WarpColumns columns = {};
	RowSums<FewRows::m, FewRows::Tile::workers> rows = {};

	// Tiles below each other come first: they share columns of b.
	__device__ int row(int tile) const { return tile % tiles_m * FewRows::m; }
	__device__ int col(int tile) const { return tile / tiles_m * FewRows::n; }
	__device__ int warp() const { return static_cast<int>(threadIdx.x) / 32; }

	__device__ void prefetch() const { maps.prefetch(); }
	__device__ void copy(hopper::SharedAddress stage, hopper::SharedAddress full, int tile, int step) const {
		maps.copy(stage, stage + FewRows::a_bytes, full, row(tile), col(tile), step * depth);
	}
	// The products are waited for, because their first operand lies in registers.
	__device__ void multiply(int (&d)[FewRows::Tile::eights][4], const hopper::FewRowsStage &stage, int) {
		uint32_t a[products][4];
		columns.load(a, stage.address + FewRows::a_bytes, warp());
		const uint64_t b = hopper::tile_descriptor(stage.address);
		hopper::fence();
#pragma unroll
		for (int i = 0; i < products; i++) hopper::multiply_int8(d, a[i], hopper::advanced(b, i * hopper::mma_k_bytes), 1);
		hopper::commit();
		columns.add(a);
		rows.add(stage.data, static_cast<int>(threadIdx.x));
		hopper::wait_for<0>();
	}
	__device__ void complete(int (&d)[FewRows::Tile::eights][4], int begin, int end) {
		int *const of_rows = shared_rows + turn * FewRows::m;
		rows.share(of_rows, scaler, static_cast<int>(threadIdx.x));
		int terms[2];
		columns.terms(terms, scaler, min(end * depth, k) - min(begin * depth, k));
		hopper::named_sync(1, FewRows::Tile::workers);
		take_zeros(d, of_rows, terms);
		turn ^= 1; // the next tile's go elsewhere: others may still read these
	}
	__device__ void store(const int (&y)[FewRows::Tile::chunk_eights][4], int tile, int chunk) const {
		store_columns(c, m, n, scaler, y, row(tile) + 8 * FewRows::Tile::chunk_eights * chunk, col(tile) + warp() * warp_columns);
	}
};
#endif

template <int Splits>
__global__ void __launch_bounds__(FewRows::Tile::threads, 1)
    int8_wgmma_few_rows(const __grid_constant__ Maps maps, const __grid_constant__ Scaler scaler, int8_t *c, int m, int n, int k, hopper::FewRowsWork work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char int8_tiles[];
	hopper::run_few_rows<FewRows::Tile, Splits, int>(work, int8_tiles, [&](unsigned char *aside) {
		return FewRowsProduct{maps, scaler, c, m, n, k, (m + FewRows::m - 1) / FewRows::m, reinterpret_cast<int *>(aside)};
	});
#endif
}

inline int64_t few_row_tiles(int64_t m, int64_t n) { return (m + FewRows::m - 1) / FewRows::m * ((n + FewRows::n - 1) / FewRows::n); }

inline int launch_few_rows(const triad_call *call) {
	const triad_tensor &a = call->in[0], &b = call->in[1], &c = call->out[0];
	const int m = static_cast<int>(c.shape[0]), n = static_cast<int>(c.shape[1]), k = static_cast<int>(a.shape[1]);
	Maps maps;
	if (const int status = map_operands(&maps, a, b, FewRows::m)) return status;
	const hopper::FewRowsWork work = {static_cast<int>(few_row_tiles(m, n)), (k + depth - 1) / depth};
	const auto launch = [&](auto splits) {
		constexpr int number = decltype(splits)::value;
		return hopper::launch_few_rows<FewRows::Tile, number>(int8_wgmma_few_rows<number>, work, stream_of(call), maps, Scaler(call),
		                                                      static_cast<int8_t *>(c.data), m, n, k);
	};
	switch (hopper::few_rows_splits<FewRows::Tile>(work)) {
	case 1: return launch(std::integral_constant<int, 1>());
	case 2: return launch(std::integral_constant<int, 2>());
	default: return launch(std::integral_constant<int, 4>());
	}
}

} // namespace int8_gemm
} // namespace triad
#endif
