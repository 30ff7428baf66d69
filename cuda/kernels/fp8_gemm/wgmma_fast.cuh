// wgmma_fast.cuh: the product of two fp8 matrices with one scale a tensor or a row, whose whole sum stays in Hopper's tensor cores, which keep about 14
// bits of it (contract "fast"): no additions in fp32 beside the products, tiles of 128 x 256, and the pipeline of hopper/pair_product.cuh.
#ifndef TRIAD_FP8_GEMM_WGMMA_FAST_CUH
#define TRIAD_FP8_GEMM_WGMMA_FAST_CUH
#include "accumulators.cuh"
#include "hopper/pair_product.cuh"
#include "hopper/wgmma_wide.cuh"

namespace triad {

using FastTile = hopper::PairTile<2, 4>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
template <int32_t FormatA, int32_t FormatB>
__device__ inline void multiply_stage(float (&d)[FastTile::n / 8][4], uint32_t a_tile, uint32_t b_tile, bool add) {
	const uint64_t a = hopper::tile_descriptor(a_tile), b = hopper::tile_descriptor(b_tile);
#pragma unroll
	for (int k = 0; k < hopper::tile_row_bytes; k += hopper::mma_k_bytes)
		hopper::multiply_wide_fp8<FormatA, FormatB>(d, hopper::advanced(a, k), hopper::advanced(b, k), add || k > 0);
}
#endif

// wide: rows of c can be written 16 bytes at a time.
template <int32_t FormatA, int32_t FormatB>
__global__ void __launch_bounds__(FastTile::threads, 1)
    product_wgmma_fast(const __grid_constant__ Product p, bool wide, const __grid_constant__ hopper::PairWork work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char fast_tiles[];
	using Sums = float[FastTile::n / 8][4];
	constexpr int part = accumulators / 2; // a thread's of 64 columns: so many at a time are scaled, in few registers
	hopper::run_pair<FastTile, true, true>(
		work, fast_tiles, [](Sums &d, uint32_t a, uint32_t b, bool add) { multiply_stage<FormatA, FormatB>(d, a, b, add); },
		[&](const Sums &d, int64_t, int64_t row, int64_t col) {
#pragma unroll
			for (int from = 0; from < FastTile::n / 2; from += part) {
				float y[1][part];
#pragma unroll
				for (int i = 0; i < part; i++) y[0][i] = d[(from + i) / 4][i % 4];
				scale_sums<1>(p, row, col + 2 * from, y);
				store_sums(p, row, col + 2 * from, y[0], wide);
			}
		});
#endif
}

} // namespace triad
#endif
