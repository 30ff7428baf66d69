// Stands in for cuda/include/hopper/wgmma_int8.cuh: wgmma of int8 with int32 sums (async_products.cc).
#ifndef TRIAD_HOPPER_WGMMA_INT8_CUH
#define TRIAD_HOPPER_WGMMA_INT8_CUH
#include "hopper/wgmma.cuh"
#include "hopper/wgmma_half.cuh"

namespace cuemu {

struct Int8 {
	static float decode(uint32_t code) { return static_cast<float>(static_cast<int8_t>(code)); }
};

}  // namespace cuemu

namespace triad {
namespace hopper {

template <int Eights> CUEMU_UNWATCHED inline void multiply_int8(int32_t (&d)[Eights][4], const uint32_t (&a)[4], uint64_t b, int add, CUEMU_HERE) {
	cuemu::Issued lane = {reinterpret_cast<float *>(&d[0][0]), a, cuemu::Codes<cuemu::Int8>::all(), cuemu::Codes<cuemu::Int8>::all(), nullptr, 0, b,
	                      false, false, add != 0, 8 * Eights, cuemu::this_warp(), file, line, true};
	cuemu::warp_call(&cuemu_wgmma_issue, &lane, file, line);
}

} // namespace hopper
} // namespace triad
#endif
