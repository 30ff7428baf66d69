// finish.cuh: hints to the compiler that C++ does not have.
#ifndef TRIAD_HOPPER_FINISH_CUH
#define TRIAD_HOPPER_FINISH_CUH
#include <cuda_runtime.h>

namespace triad::hopper {

// finish: the value is computed here and not later, so that what it is made of need not be kept until then.
__device__ inline void finish(float &value) {
#ifdef __CUEMU__
	(void)value;
#else
	asm volatile("" : "+f"(value));
#endif
}

// refresh: the compiler knows nothing of the value any more, so what is computed from it is not shared with what was computed before.
template <class V> __device__ inline void refresh(V &) {}
__device__ inline void refresh(uint4 &value) {
#ifdef __CUEMU__
	(void)value;
#else
	asm volatile("" : "+r"(value.x), "+r"(value.y), "+r"(value.z), "+r"(value.w));
#endif
}

} // namespace triad::hopper
#endif
