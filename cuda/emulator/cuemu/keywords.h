// CUDA's keywords on a host compiler. `__shared__` and `__noinline__` are not here: the rewriter turns them into C++ (libstdc++ itself uses
// the spelling `__noinline__` inside `__attribute__`). `__CUDA_ARCH__` stays undefined, but for conditions that compare it (rewrite/architecture.go);
// `__CUEMU__` says that this is the emulator.
#ifndef CUEMU_KEYWORDS_H
#define CUEMU_KEYWORDS_H

#define __CUEMU__ 1

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...) cuemu_has_no_cluster_dims_launch_with_cudaLaunchKernelEx_and_cudaLaunchAttributeClusterDimension
#define __align__(bytes) __attribute__((aligned(bytes))) // as CUDA has it: it may stand where alignas may not
#define __builtin_align__(bytes) __align__(bytes)

#endif
