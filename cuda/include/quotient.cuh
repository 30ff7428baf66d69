// quotient.cuh: many numbers divided by one, and rounded to integers, with few instructions a number.
#ifndef TRIAD_QUOTIENT_CUH
#define TRIAD_QUOTIENT_CUH
#include <cuda_runtime.h>

namespace triad {

// Quotient divides by one number: the product with its reciprocal and one correction by the exact remainder, which is rounded as a division is
// (Markstein 1990) where neither the divisor nor the remainder is near the limits of fp32. For a divisor that does not hold, divide.
class Quotient {
public:
	__device__ explicit Quotient(float divisor) : divisor(divisor), reciprocal(1.0f / divisor) {}
	__device__ bool holds() const { return divisor >= 0x1p-60f && divisor <= 0x1p60f; }

	__device__ float operator()(float v) const {
		const float near = v * reciprocal;
		return fmaf(fmaf(-near, divisor, v), reciprocal, near);
	}

private:
	float divisor, reciprocal;
};

// The last byte, in two's complement, of an integer plus the one beside v, halves to even; both below 2^21: the last place of the sum is 1.
__device__ inline int8_t last_byte(float v, float integer) { return static_cast<int8_t>(__float_as_int(v + 0x1.8p23f + integer)); }

} // namespace triad
#endif
