// arithmetic.cuh: single instructions that C++ does not reach.
#ifndef TRIAD_HOPPER_ARITHMETIC_CUH
#define TRIAD_HOPPER_ARITHMETIC_CUH
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

namespace triad {
namespace hopper {

// power_of_two is 2^x with a relative error below 2^-22; below 2^-126 it is 0. 2^-inf is 0, 2^inf infinity, 2^NaN NaN.
__device__ inline float power_of_two(float x) {
#ifdef __CUEMU__
	return exp2f(x);
#else
	float y;
	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
#endif
}

// permute chooses four of the eight bytes of low and high, each by a half of a byte of the selector's low 16 bits: three bits are the byte's
// number, and where the fourth is set the byte's highest bit is repeated in its place. __byte_perm ignores the fourth.
__device__ inline uint32_t permute(uint32_t low, uint32_t high, uint32_t selector) {
#ifdef __CUEMU__
	uint32_t y = __byte_perm(low, high, selector);
	for (int i = 0; i < 4; i++) {
		const uint32_t byte = 0xffu << 8 * i;
		if (selector >> 4 * i & 8) y = (y >> 8 * i & 0x80) != 0 ? y | byte : y & ~byte;
	}
	return y;
#else
	uint32_t y;
	asm("prmt.b32 %0, %1, %2, %3;" : "=r"(y) : "r"(low), "r"(high), "r"(selector));
	return y;
#endif
}

// add_pair adds to two neighbouring fp32 sums in global memory, each in one piece, in any order; to is aligned to 8 bytes.
__device__ inline void add_pair(float *to, float first, float second) {
#if !defined(__CUEMU__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(first), "f"(second) : "memory");
#else
	atomicAdd(to, first);
	atomicAdd(to + 1, second);
#endif
}

// prefetch brings what lies at an address of global memory into the L2 cache.
__device__ inline void prefetch(const void *at) {
#ifdef __CUEMU__
	(void)at;
#else
	asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
#endif
}

// prefetch_bytes brings so many bytes into the L2 cache; address and number are multiples of 16. sm_90 and newer.
__device__ inline void prefetch_bytes(const void *from, uint32_t bytes) {
#if !defined(__CUEMU__) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes));
#else
	(void)from, (void)bytes;
#endif
}

// fresh gives x as a value that the compiler knows nothing of: what is derived from it is computed here, and not kept in registers from before.
__device__ inline int fresh(int x) {
#ifndef __CUEMU__
	asm volatile("" : "+r"(x));
#endif
	return x;
}

__device__ inline int64_t fresh(int64_t x) {
#ifndef __CUEMU__
	asm volatile("" : "+l"(x));
#endif
	return x;
}

} // namespace hopper
} // namespace triad
#endif
