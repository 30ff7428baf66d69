// quantiser.cuh: what int8_gemm does with an exact sum.
#ifndef TRIAD_INT8_GEMM_QUANTISER_CUH
#define TRIAD_INT8_GEMM_QUANTISER_CUH
#include <cuda_runtime.h>

#include "abi.h"

namespace triad {
namespace int8_gemm {

enum Attribute { scale_a, scale_b, scale_c, zero_a, zero_b, zero_c };

// Quantiser turns an exact sum into an element of c.
struct Quantiser {
	float scale_a, scale_b, scale_c;
	int zero_a, zero_b, zero_c;

	explicit Quantiser(const triad_call *call)
	    : scale_a(static_cast<float>(call->attr[int8_gemm::scale_a])), scale_b(static_cast<float>(call->attr[int8_gemm::scale_b])),
	      scale_c(static_cast<float>(call->attr[int8_gemm::scale_c])), zero_a(static_cast<int>(call->attr[int8_gemm::zero_a])),
	      zero_b(static_cast<int>(call->attr[int8_gemm::zero_b])), zero_c(static_cast<int>(call->attr[int8_gemm::zero_c])) {}

	__device__ int8_t operator()(int sum) const {
		const float t = rintf(static_cast<float>(sum) * scale_a * scale_b / scale_c) + static_cast<float>(zero_c);
		return static_cast<int8_t>(fminf(fmaxf(t, -128.0f), 127.0f)); // clamped while it is a float: int8 would wrap
	}

	// of_sums takes the sums of ab, and of a's row and b's column of k values: sum (a - za)(b - zb) = sum ab - zb sum a - za sum b + k za zb. Each
	// of the four stays within int32, and so does what remains after each subtraction, in this order.
	__device__ int8_t of_sums(int ab, int a, int b, int k) const { return (*this)(ab - zero_b * a - zero_a * b + k * zero_a * zero_b); }
};

} // namespace int8_gemm
} // namespace triad
#endif
