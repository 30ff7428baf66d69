// walked_halves.cuh: products of 16-bit elements on the pipeline of walked_product.cuh: how a stage is multiplied, and where a thread's sums belong.
#ifndef TRIAD_HOPPER_WALKED_HALVES_CUH
#define TRIAD_HOPPER_WALKED_HALVES_CUH
#include "hopper/walked_product.cuh"
#include "hopper/store_sums.cuh"
#include "hopper/wgmma_any.cuh"

namespace triad {
namespace hopper {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// multiply_halves: d = a b, plus d if add, for 64 of the reduction from two addresses of shared memory on.
template <class Tile, class T, bool AlongKA, bool AlongKB>
__device__ inline void multiply_halves(typename Tile::Sums &d, uint32_t a_tile, uint32_t b_tile, bool add) {
	const uint64_t a = AlongKA ? tile_descriptor(a_tile) : across_descriptor(a_tile, Tile::panel_bytes);
	const uint64_t b = AlongKB ? tile_descriptor(b_tile) : across_descriptor(b_tile, Tile::panel_bytes);
	constexpr int across = 16 * tile_row_bytes; // to the next 16 of the reduction
#pragma unroll
	for (int i = 0; i < Tile::k / 16; i++)
		multiply_any<T, !AlongKA, !AlongKB>(d, advanced(a, i * (AlongKA ? mma_k_bytes : across)), advanced(b, i * (AlongKB ? mma_k_bytes : across)),
		                                    add || i > 0);
}

// sums_place returns the place in the result y of all matrices for a thread's sums of a consumer's rows.
template <class Tile, class T> __device__ inline SumsPlace<T> sums_place(T *y, int64_t columns, const WalkedPlace &at) {
	const int64_t row = at.row + accumulator_row(static_cast<int>(threadIdx.x) % Tile::warpgroup, 0);
	return {y + at.first * columns, at.rows, columns, row, at.col};
}
#endif

} // namespace hopper
} // namespace triad
#endif
