#ifndef TRIAD_FP8_CUH
#define TRIAD_FP8_CUH
// 8-bit floating-point operands: codes to fp32, scales that stand for groups of elements, and products scaled without overflow.
// Formats  e4m3 (4 exponent bits, bias 7, no infinity, 0x7F and 0xFF are NaN), e5m2 (5 exponent bits, bias 15, infinity and NaN as IEEE).
// Source   Micikevicius et al. 2022, arXiv:2209.05433; block scales as in DeepSeek-V3 2024, arXiv:2412.19437
#include "abi.h"

namespace triad {

constexpr int scale_block = 128;   // elements of the reduction that share a scale, and rows of the second operand that do

// The value of one code, exact. Exponent and mantissa are moved to their places in fp32; the power of two corrects the bias and,
// because fp32 multiplies subnormals exactly, normalises the format's subnormals as well.
template <int32_t Format>
__host__ __device__ inline float decode_fp8(uint32_t code) {
	static_assert(Format == TRIAD_E4M3 || Format == TRIAD_E5M2, "not an 8-bit floating-point format");
	const uint32_t magnitude = code & 0x7Fu, sign = (code & 0x80u) << 24;
	constexpr bool wide = Format == TRIAD_E5M2;
	union { uint32_t bits; float value; } x;
	x.bits = magnitude << (wide ? 21 : 20);
	x.value *= wide ? 0x1p112f : 0x1p120f;
	if (wide && magnitude >= 0x7Cu) x.bits = 0x7F800000u | (magnitude & 3u) << 21;
	if (!wide && magnitude == 0x7Fu) x.bits = 0x7FC00000u;
	x.bits |= sign;
	return x.value;
}

// An operand: codes[rows, k], any strides (in elements, which are bytes).
struct Fp8Matrix {
	const uint8_t *codes;
	int64_t row_stride, k_stride;
};

// The scales of an operand. A stride of 0 says that the scale does not depend on that index, so one lookup serves a scale per tensor
// (both 0), per row (block_stride 0) and per block of scale_block along k (row_group rows together).
struct Fp8Scale {
	const float *scale;
	int64_t row_group, row_stride, block_stride;
	__device__ float at(int64_t row, int64_t k_block) const { return scale[row / row_group * row_stride + k_block * block_stride]; }
};

// A scale as mantissa * 2^exponent. Two scales may be as far apart as amax of the operands is: their product, or a partial sum times
// the first of them, can leave fp32's range although the result does not.
struct SplitScale {
	float mantissa;
	int exponent;
};

__device__ inline SplitScale split_scale(float s) {
	SplitScale r = {s, 0};
	if (fabsf(s) <= 3.4028235e38f) r.mantissa = frexpf(s, &r.exponent);   // infinity and NaN stay as they are
	return r;
}

// x * a * b, rounded as three fp32 products are, whatever the magnitudes of a and b.
__device__ inline float scaled(float x, SplitScale a, SplitScale b) {
	return ldexpf(x * (a.mantissa * b.mantissa), a.exponent + b.exponent);
}

} // namespace triad
#endif
