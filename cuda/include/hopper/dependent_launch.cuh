// dependent_launch.cuh: a kernel whose blocks may start while those of the kernel before it in the stream end, on GPUs of 9.0 and higher.
//   The first calls next_may_start, the second await_previous before it reads what the first has written. Without the first call, the second's
//   blocks start when the first's have ended.
// Source   PTX ISA 9.0, "griddepcontrol"; CUDA runtime API 13.0, cudaLaunchAttributeProgrammaticStreamSerialization
#ifndef TRIAD_HOPPER_DEPENDENT_LAUNCH_CUH
#define TRIAD_HOPPER_DEPENDENT_LAUNCH_CUH
#include <cuda_runtime.h>

namespace triad {
namespace hopper {

// next_may_start: once each block has called it or has ended, the next kernel's blocks may take what room there is.
__device__ inline void next_may_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// await_previous waits until the kernel before has ended and all that it wrote is seen.
__device__ inline void await_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// launch_dependent starts a kernel that calls await_previous: 0, or CUDA's error code.
template <class... Parameters, class... Arguments>
int launch_dependent(void (*kernel)(Parameters...), unsigned blocks, int threads, cudaStream_t stream, Arguments... arguments) {
	cudaLaunchAttribute early = {};
	early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	early.val.programmaticStreamSerializationAllowed = 1;
	cudaLaunchConfig_t config = {};
	config.gridDim = dim3(blocks);
	config.blockDim = dim3(static_cast<unsigned>(threads));
	config.stream = stream;
	config.attrs = &early;
#ifndef __CUEMU__ // whose kernels run one after the other
	config.numAttrs = 1;
#endif
	return static_cast<int>(cudaLaunchKernelEx(&config, kernel, arguments...));
}

} // namespace hopper
} // namespace triad
#endif
