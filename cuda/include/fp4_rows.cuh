// fp4_rows.cuh: rows of fp4 numbers times a vector of them: the operands, exact products of two groups of 16 numbers, and a kernel whose blocks stay.
// cuda/kernels/nvfp4_gemv.cu has the formula and the formats.
#ifndef TRIAD_FP4_ROWS_CUH
#define TRIAD_FP4_ROWS_CUH
#include <algorithm>

#include "arguments.cuh"
#include "call.cuh"
#include "element.cuh"
#include "fp4.cuh"
#include "reduce.cuh"

namespace triad {
namespace fp4 {

// Operands are what vec reads: without gaps, but for the stride between rows of a.
struct Operands {
	const uint8_t *a, *x;
	const __nv_fp8_e4m3 *scale_a, *scale_x;
	int64_t a_row, m, k;

	explicit Operands(const triad_call *call)
	    : a(static_cast<const uint8_t *>(call->in[0].data)), x(static_cast<const uint8_t *>(call->in[2].data)),
	      scale_a(static_cast<const __nv_fp8_e4m3 *>(call->in[1].data)), scale_x(static_cast<const __nv_fp8_e4m3 *>(call->in[3].data)),
	      a_row(call->in[0].stride[0]), m(call->in[0].shape[0]), k(2 * call->in[0].shape[1]) {}
};

// as reads two groups of codes, or their two scales, at once.
template <class To, class From> __device__ inline To as(const From *at) { return *reinterpret_cast<const To *>(at); }

// dots are the sums of products of two groups, times four since both sides are doubled: exact.
__device__ inline void dots(uint4 codes, const int (&x)[8], float (&of)[2]) {
	const unsigned words[4] = {codes.x, codes.y, codes.z, codes.w};
#pragma unroll
	for (int g = 0; g < 2; g++) {
		int plus = 0, minus = 0;
#pragma unroll
		for (int i = 4 * g; i < 4 * g + 4; i++) {
			const Signed4 s = doubled_fp4(words[i / 2], i % 2);
			plus = __dp4a(static_cast<int>(s.plus), x[i], plus);
			minus = __dp4a(static_cast<int>(s.minus), x[i], minus);
		}
		of[g] = static_cast<float>(plus - minus);
	}
}

constexpr int rows_at_once = 4; // of a block: the numbers of x are decoded once for them
constexpr int numbers = 32;     // of one load

// FourRows are one load of a thread of each of four rows, as they lie in memory. Rows beyond the last one read that one.
struct FourRows {
	uint4 codes[rows_at_once];
	__nv_fp8x2_e4m3 scale[rows_at_once];

	__device__ void fetch(const Operands &of, int64_t row, int c) {
		const uint8_t *code = of.a + row * of.a_row + c / 2;
		const __nv_fp8_e4m3 *scales = of.scale_a + row * (of.k / 16) + c / 16;
#pragma unroll
		for (int r = 0; r < rows_at_once; r++) {
			codes[r] = as<uint4>(code);
			scale[r] = as<__nv_fp8x2_e4m3>(scales);
			if (row + r + 1 < of.m) code += of.a_row, scales += of.k / 16;
		}
	}
};

// sum_rows adds four rows up over a warp: each lane gets the sum of row lane / 8.
__device__ inline float sum_rows(const float (&sum)[rows_at_once]) {
	const int lane = static_cast<int>(threadIdx.x) % 32;
	const bool late = lane & 16, odd = lane & 8;
	const auto swap = [](bool second, float a, float b, int lanes) { return (second ? b : a) + shuffle_xor(second ? a : b, lanes); };
	float v = swap(odd, swap(late, sum[0], sum[2], 16), swap(late, sum[1], sum[3], 16), 8);
#pragma unroll
	for (int lanes = 4; lanes > 0; lanes /= 2) v += shuffle_xor(v, lanes);
	return v;
}

constexpr int most_threads = 512, most_warps = most_threads / 32;

// A block has a thread for each load of a row, and takes every so-manieth four rows. While it multiplies, the next four come.
static __global__ void __launch_bounds__(most_threads, 2) nvfp4_gemv_stay_kernel(Operands of, __half *y, float alpha) {
	__shared__ float sums[2][rows_at_once][most_warps];
	const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
	const int c = static_cast<int>(threadIdx.x) * numbers;
	const int64_t step = gridDim.x * static_cast<int64_t>(rows_at_once);
	const bool inside = c < of.k;
	FourRows next = {}; // which counts as 0 beyond the last load
	int64_t row = blockIdx.x * static_cast<int64_t>(rows_at_once);
	if (inside) next.fetch(of, row, c);
	const uint4 codes = inside ? as<uint4>(of.x + c / 2) : uint4{};
	const float2 scale_x = inside ? static_cast<float2>(as<__nv_fp8x2_e4m3>(of.scale_x + c / 16)) : float2{};
	const unsigned words[4] = {codes.x, codes.y, codes.z, codes.w};
	int x[8];
#pragma unroll
	for (int i = 0; i < 8; i++) x[i] = as_int8(doubled_fp4(words[i / 2], i % 2));
	for (int turn = 0; row < of.m; row += step, turn++) {
		const FourRows rows = next;
		if (inside && row + step < of.m) next.fetch(of, row + step, c);
		float sum[rows_at_once];
#pragma unroll
		for (int r = 0; r < rows_at_once; r++) {
			const float2 scale = static_cast<float2>(rows.scale[r]);
			float dot[2];
			dots(rows.codes[r], x, dot);
			sum[r] = dot[0] * (scale.x * scale_x.x) + dot[1] * (scale.y * scale_x.y);
		}
		const float of_warp = sum_rows(sum);
		auto &of_turn = sums[turn % 2]; // who reads it two turns later has passed the barrier between
		if (lane % 8 == 0) of_turn[lane / 8][warp] = of_warp;
		__syncthreads();
		if (warp != turn % warps) continue;
		float total = 0.0f; // eight lanes a row
		for (int w = lane % 8; w < warps; w += 8) total += of_turn[lane / 8][w];
#pragma unroll
		for (int lanes = 4; lanes > 0; lanes /= 2) total += shuffle_xor(total, lanes);
		if (lane % 8 == 0 && row + lane / 8 < of.m) y[row + lane / 8] = __float2half_rn(alpha * (0.25f * total));
	}
}

// stays: a block has a thread for each load of a row.
inline bool stays(const Operands &of) { return of.k / numbers <= most_threads; }

inline int launch_stay(const Operands &of, __half *y, float alpha, cudaStream_t stream) {
	const int block = static_cast<int>((of.k / numbers + 31) / 32 * 32), resident = 2 * most_threads / block; // of a multiprocessor
	const int64_t most = std::max(device_attribute(cudaDevAttrMultiProcessorCount) * resident, 1), wanted = (of.m + rows_at_once - 1) / rows_at_once;
	nvfp4_gemv_stay_kernel<<<static_cast<unsigned>(std::min(wanted, most)), block, 0, stream>>>(of, y, alpha);
	return launched();
}

} // namespace fp4
} // namespace triad
#endif
