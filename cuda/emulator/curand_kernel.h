// Stands in for the header of cuRAND for kernels: types and functions that can be compiled and not called.
#ifndef CUEMU_CURAND_KERNEL_H
#define CUEMU_CURAND_KERNEL_H
#include "curand.h"

struct curandStateXORWOW { unsigned int words[12]; };
struct curandStateMRG32k3a { unsigned int words[16]; };
struct curandStatePhilox4_32_10 { unsigned int words[16]; };
typedef curandStateXORWOW curandState, curandState_t, curandStateXORWOW_t;
typedef curandStateMRG32k3a curandStateMRG32k3a_t;
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;

#define CUEMU_ABSENT(type, name) \
	template <class... A> __device__ inline type name(A...) { using Type = type; return ::cuemu::absent(#name), Type(); }
CUEMU_ABSENT(void, curand_init)
CUEMU_ABSENT(unsigned int, curand)
CUEMU_ABSENT(uint4, curand4)
CUEMU_ABSENT(float, curand_uniform)
CUEMU_ABSENT(float2, curand_uniform2)
CUEMU_ABSENT(float4, curand_uniform4)
CUEMU_ABSENT(double, curand_uniform_double)
CUEMU_ABSENT(float, curand_normal)
CUEMU_ABSENT(float2, curand_normal2)
CUEMU_ABSENT(float4, curand_normal4)
#undef CUEMU_ABSENT
#endif
