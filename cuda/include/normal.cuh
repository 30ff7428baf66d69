// normal.cuh: the normal distribution function by one exponential and a polynomial.
#ifndef TRIAD_NORMAL_CUH
#define TRIAD_NORMAL_CUH
#include <cuda_runtime.h>

namespace triad {

// Phi(x), and e = exp(-x^2/2). Phi(-|x|) = 2^-q(|x|), where q is a polynomial: fitted so that 2^-q is 7.5e-9
// away at most, an eighth of a roundoff of 1. Its error is absolute, as that of x/2 * (1 + erf) is; what is
// left of 1 for positive x has no cancellation. The leading coefficient is positive, so that infinities give
// 0 and 1. It takes one exponential and half of erff's instructions.
struct Normal {
	float phi, e;
};

__device__ inline Normal normal(float x) {
	const float z = fabsf(x);
	float q = 2.77210849e-6f;
	q = q * z - 3.86214658e-5f;
	q = q * z + 1.82551076e-4f;
	q = q * z + 1.45861511e-4f;
	q = q * z - 7.07546e-3f;
	q = q * z + 0.0525050199f;
	q = q * z + 0.459204911f;
	q = q * z + 1.15110572f;
	q = q * z + 0.999999978f;
	const float tail = exp2f(-q);
	return {x < 0 ? tail : 1.0f - tail, exp2f(x * x * -0.721347520f)};
}

} // namespace triad
#endif
