// Stands in for cuda/include/hopper/wgmma_any.cuh: wgmma of 128 columns, of 16-bit elements also 64 and 256 (async_products.cc).
#ifndef TRIAD_HOPPER_WGMMA_ANY_CUH
#define TRIAD_HOPPER_WGMMA_ANY_CUH
#include "hopper/wgmma.cuh"
#include "hopper/wgmma_half.cuh"

namespace triad {
namespace hopper {

template <class T, int AcrossA, int AcrossB, int Eights>
CUEMU_UNWATCHED inline void multiply_any(float (&d)[Eights][4], uint64_t a, uint64_t b, int add, CUEMU_HERE) {
	cuemu::Issued lane = {&d[0][0], nullptr, nullptr, nullptr, &cuemu::FormatOf<T>::type::decode, a, b, AcrossA != 0, AcrossB != 0, add != 0,
	                      8 * Eights, cuemu::this_warp(), file, line};
	cuemu::warp_call(&cuemu_wgmma_issue, &lane, file, line);
}

template <int32_t FormatA, int32_t FormatB>
CUEMU_UNWATCHED inline void multiply_any_fp8(float (&d)[16][4], uint64_t a, uint64_t b, int add, CUEMU_HERE) {
	cuemu::Issued lane = {&d[0][0], nullptr, cuemu::values_of<FormatA>(), cuemu::values_of<FormatB>(), nullptr, a, b, false, false, add != 0,
	                      128, cuemu::this_warp(), file, line};
	cuemu::warp_call(&cuemu_wgmma_issue, &lane, file, line);
}

} // namespace hopper
} // namespace triad
#endif
