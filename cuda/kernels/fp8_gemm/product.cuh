#ifndef TRIAD_FP8_GEMM_PRODUCT_CUH
#define TRIAD_FP8_GEMM_PRODUCT_CUH
// The product of two scaled fp8 matrices as kernels see it, and the accesses that every variant shares.
#include "element.cuh"
#include "fp8.cuh"

namespace triad {

enum Attribute { scaling_attribute, out_attribute };
enum Scaling { tensor_scaling, row_scaling, block_scaling };   // values of the attribute "scaling"

// One product c[m, n] = a[m, k] b[n, k]^T.
struct Product {
	Fp8Matrix a, b;
	Fp8Scale scale_a, scale_b;
	int64_t m, n, k;
	void *c;
	int32_t out;   // dtype of c
	int32_t scaling;
};

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Writes element i of c in c's dtype.
__device__ inline void store_element(void *c, int32_t dtype, int64_t i, float x) {
	if (dtype == TRIAD_BF16) static_cast<__nv_bfloat16 *>(c)[i] = from_float<__nv_bfloat16>(x);
	if (dtype == TRIAD_F16) static_cast<__half *>(c)[i] = from_float<__half>(x);
	if (dtype == TRIAD_F32) static_cast<float *>(c)[i] = x;
}

struct alignas(16) Codes {
	uint32_t word[4];
};

// 16 codes of one row from k on, little-endian in words; what lies beyond the operand is zero.
__device__ inline Codes fetch_codes(const Fp8Matrix &x, int64_t rows, int64_t row, int64_t k, int64_t k_end) {
	Codes r = {{0, 0, 0, 0}};
	if (row >= rows || k >= k_end) return r;
	const uint8_t *from = x.codes + row * x.row_stride + k * x.k_stride;
	if (x.k_stride == 1 && k + 16 <= k_end && reinterpret_cast<uintptr_t>(from) % 16 == 0) return *reinterpret_cast<const Codes *>(from);
	const int count = static_cast<int>(min(static_cast<int64_t>(16), k_end - k));
#pragma unroll
	for (int i = 0; i < 16; i++)
		if (i < count) r.word[i / 4] |= static_cast<uint32_t>(from[i * x.k_stride]) << (i % 4 * 8);
	return r;
}

} // namespace triad
#endif
