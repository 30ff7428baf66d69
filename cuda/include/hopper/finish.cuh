// finish.cuh: a hint to the compiler that C++ does not have.
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

} // namespace triad::hopper
#endif
