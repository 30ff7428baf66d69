// quad.cuh: what the four lanes of a quad do with the 16-bit results of a tensor core, of which each holds pairs of columns.
#ifndef TRIAD_QUAD_CUH
#define TRIAD_QUAD_CUH
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace triad {

__device__ inline uint32_t pair_of(__nv_bfloat16, float low, float high) {
	const __nv_bfloat162 v = __floats2bfloat162_rn(low, high);
	return *reinterpret_cast<const uint32_t *>(&v);
}
__device__ inline uint32_t pair_of(__half, float low, float high) {
	const __half2 v = __floats2half2_rn(low, high);
	return *reinterpret_cast<const uint32_t *>(&v);
}

// Four lanes, Apart from each other, hold a 4x4 matrix of words, a row each: afterwards lane i of them holds what was column i.
template <int Apart = 1> __device__ inline void transpose_quad(uint32_t (&x)[4], int lane) {
#pragma unroll
	for (int step = 1; step <= 2; step *= 2) {
		const bool upper = lane & step;
#pragma unroll
		for (int i = 0; i < 4; i++) {
			if (i & step) continue;
			const uint32_t other = __shfl_xor_sync(0xffffffffu, upper ? x[i] : x[i | step], step * Apart);
			if (upper) x[i] = other;
			else x[i | step] = other;
		}
	}
}

} // namespace triad
#endif
