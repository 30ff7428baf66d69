// Stands in for the header of cuRAND: types and functions that can be compiled and not called.
#ifndef CUEMU_CURAND_H
#define CUEMU_CURAND_H
#include "cuda_runtime.h"

enum curandStatus { CURAND_STATUS_SUCCESS = 0, CURAND_STATUS_NOT_INITIALIZED = 101, CURAND_STATUS_INTERNAL_ERROR = 999 };
typedef curandStatus curandStatus_t;
enum curandRngType {
	CURAND_RNG_PSEUDO_DEFAULT = 100, CURAND_RNG_PSEUDO_XORWOW = 101, CURAND_RNG_PSEUDO_MRG32K3A = 121,
	CURAND_RNG_PSEUDO_MTGP32 = 141, CURAND_RNG_PSEUDO_MT19937 = 142, CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
	CURAND_RNG_QUASI_DEFAULT = 200,
};
typedef curandRngType curandRngType_t;
typedef struct curandGenerator_st *curandGenerator_t;

#define CUEMU_ABSENT(name) \
	template <class... A> inline curandStatus_t name(A...) { return ::cuemu::absent(#name, CURAND_STATUS_INTERNAL_ERROR); }
CUEMU_ABSENT(curandCreateGenerator)
CUEMU_ABSENT(curandCreateGeneratorHost)
CUEMU_ABSENT(curandDestroyGenerator)
CUEMU_ABSENT(curandSetPseudoRandomGeneratorSeed)
CUEMU_ABSENT(curandSetStream)
CUEMU_ABSENT(curandGenerate)
CUEMU_ABSENT(curandGenerateUniform)
CUEMU_ABSENT(curandGenerateUniformDouble)
CUEMU_ABSENT(curandGenerateNormal)
CUEMU_ABSENT(curandGenerateNormalDouble)
#undef CUEMU_ABSENT
#endif
