// Stands in for cuda/include/hopper/wgmma.cuh: wgmma with 8-bit elements, and what orders products (async_products.cc).
#ifndef TRIAD_HOPPER_WGMMA_CUH
#define TRIAD_HOPPER_WGMMA_CUH
#include "abi.h"
#include "cuda_fp8.h"
#include "cuemu/async.h"

#define __CUDA_ARCH_FEAT_SM90_ALL 1 // the kernels for sm_90a have their bodies

namespace cuemu {

// Codes are the values of all codes of an 8-bit format.
template <class Format> struct Codes {
	float value[256];
	Codes() {
		for (uint32_t code = 0; code < 256; code++) value[code] = Format::decode(code);
	}
	CUEMU_PLAIN static const float *all() {
		static const Codes codes;
		return codes.value;
	}
};

template <int32_t Format> CUEMU_PLAIN const float *values_of() {
	return Format == TRIAD_E5M2 ? Codes<E5m2>::all() : Codes<E4m3>::all();
}

inline int this_warp() { return static_cast<int>(threadIdx.x) / 32; }

}  // namespace cuemu

namespace triad {
namespace hopper {

inline void fence(CUEMU_HERE) { cuemu_wgmma_fence(file, line); }

CUEMU_UNWATCHED inline void commit(CUEMU_HERE) {
	cuemu::Waited lane = {cuemu::this_warp(), 0, file, line};
	cuemu::warp_call(&cuemu_wgmma_commit, &lane, file, line);
}

// wait_for lets others run first: what may be overwritten while a product runs is.
template <int Pending> CUEMU_UNWATCHED inline void wait_for(CUEMU_HERE) {
	if (threadIdx.x % 32 == 0) cuemu_yield();
	cuemu::Waited lane = {cuemu::this_warp(), Pending, file, line};
	cuemu::warp_call(&cuemu_wgmma_wait, &lane, file, line);
}

template <int Pending, int Count> inline void wait(float (&d)[Count], CUEMU_HERE) {
	wait_for<Pending>(file, line);
	asm volatile("" : : "r"(&d[0]) : "memory");
}

template <int32_t FormatA, int32_t FormatB, int Count>
CUEMU_UNWATCHED inline void mma_fp8(float (&d)[Count], uint64_t a, uint64_t b, int add, CUEMU_HERE) {
	cuemu::Issued lane = {d, nullptr, cuemu::values_of<FormatA>(), cuemu::values_of<FormatB>(), nullptr, a, b, false, false, add != 0, 2 * Count,
	                      cuemu::this_warp(), file, line};
	cuemu::warp_call(&cuemu_wgmma_issue, &lane, file, line);
}

} // namespace hopper
} // namespace triad
#endif
