// pair_halves.cuh: how 64 of the reduction of 16-bit elements are multiplied on the pipelines of pair_product.cuh and few_rows.cuh.
#ifndef TRIAD_HOPPER_PAIR_HALVES_CUH
#define TRIAD_HOPPER_PAIR_HALVES_CUH
#include "hopper/shared_address.cuh"
#include "hopper/swizzle.cuh"
#include "hopper/wgmma_any.cuh"

namespace triad {
namespace hopper {

constexpr int stage_k = 64, panel_bytes = stage_k * tile_row_bytes; // a panel: 64 rows or columns that lie across the reduction

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// multiply_stage: d = a b, plus d if add, for 64 of the reduction from two addresses of shared memory on.
template <class T, bool AlongKA, bool AlongKB, int Eights>
__device__ inline void multiply_stage(float (&d)[Eights][4], SharedAddress a_tile, SharedAddress b_tile, bool add) {
	const uint64_t a = AlongKA ? tile_descriptor(a_tile) : across_descriptor(a_tile, panel_bytes);
	const uint64_t b = AlongKB ? tile_descriptor(b_tile) : across_descriptor(b_tile, panel_bytes);
	constexpr int across = 16 * tile_row_bytes; // to the next 16 of the reduction
#pragma unroll
	for (int i = 0; i < stage_k / 16; i++)
		multiply_any<T, !AlongKA, !AlongKB>(d, advanced(a, i * (AlongKA ? mma_k_bytes : across)), advanced(b, i * (AlongKB ? mma_k_bytes : across)),
		                                    add || i > 0);
}
#endif

} // namespace hopper
} // namespace triad
#endif
