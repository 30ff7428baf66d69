// Stands in for CUDA's header of this name: cp.async by the primitives.
#ifndef CUEMU_CUDA_PIPELINE_PRIMITIVES_H
#define CUEMU_CUDA_PIPELINE_PRIMITIVES_H

#include "cuda_runtime.h"
#include "cuemu/async.h"

inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zeros = 0, CUEMU_HERE) {
	if (bytes != 4 && bytes != 8 && bytes != 16) cuemu_trap(file, line);
	cuemu_copy_async(to, from, static_cast<int>(bytes), static_cast<int>(zeros < bytes ? bytes - zeros : 0), file, line);
}
inline void __pipeline_commit() { cuemu_copy_commit(); }
inline void __pipeline_wait_prior(size_t pending, CUEMU_HERE) { cuemu_copy_wait(static_cast<int>(pending), file, line); }

#endif
