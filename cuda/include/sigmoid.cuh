// sigmoid.cuh: 1/(1 + e^-x), fast and to the last bits at both ends.
#ifndef TRIAD_SIGMOID_CUH
#define TRIAD_SIGMOID_CUH
#include <cuda_runtime.h>

namespace triad {

// sigmoid(x), and what is left to 1. Both come from t = exp(-|x|), which is at most 1: nothing overflows or
// cancels, and the denominator lies in [1, 2], where the approximate quotient is good to 2 ulp. An IEEE
// quotient costs more instructions than all the rest.
struct Sigmoid {
	float value, rest;
};

__device__ inline Sigmoid sigmoid(float x) {
	constexpr float log2_e = 1.44269504f;
	const float t = exp2f(fabsf(x) * -log2_e);
	const float larger = __fdividef(1.0f, 1.0f + t), smaller = t * larger;
	return x < 0 ? Sigmoid{smaller, larger} : Sigmoid{larger, smaller};
}

} // namespace triad
#endif
