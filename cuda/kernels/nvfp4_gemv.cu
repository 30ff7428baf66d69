// nvfp4_gemv: y[i] = alpha * sum_j (a[i,j] * scale_a[i,j/16]) * (x[j] * scale_x[j/16])
// Layout   a [m, k/2], x [k/2] bytes of two fp4 numbers (e2m1), the first in the low half; scale_a [m, k/16], scale_x [k/16] e4m3, linear;
//          y [m] fp16. A number has a sign, two bits of exponent and one of fraction: 0, 0.5, 1, 1.5, 2, 3, 4 and 6.
// Numerics fp32 has every product of two numbers and their scales exactly (12 bits): what is rounded are the sums, alpha, and y.
// Limits   m = 0 launches nothing; k is a multiple of 16. A call outside a variant's own limit answers UNSUPPORTED.
// Source   Rouhani et al. 2023, OCP Microscaling Formats; NVIDIA 2025, arXiv:2509.25149, section 2
// The ladder: each variant adds one idea, and says what that costs.
//   naive   a thread a row, any strides; the readable one, and the one to trust first. Threads of a warp read bytes of 32 rows.
//   warp    a warp a row: its threads read neighbouring bytes and pass their sums by shuffles; any strides. Costs: a load for each byte,
//           and both scales for each two numbers
//   vec     16-byte loads of 32 numbers, of four rows before the first use; numbers become int8 by a table in two registers, and four
//           products one instruction, exact in int32, so that scales and fp32 come in once for 16 numbers. Where rows are few their columns
//           are split among blocks, whose sums a second launch adds in a fixed order. Where a block has a thread for each load of a row, it
//           stays: it decodes x once, and fetches its next four rows before it multiplies these. Costs: registers; rows of whole loads
#include "element.cuh"
#include "fp4.cuh"
#include "fp4_rows.cuh"
#include "rows.cuh"
#include "spec/nvfp4_gemv.cuh"

namespace {

using triad::fp4::as;
using triad::fp4::dots;
using triad::fp4::numbers;
using triad::fp4::Operands;
using triad::fp4::rows_at_once;
using Codes = triad::Matrix<const uint8_t>;
using Scales = triad::Matrix<const __nv_fp8_e4m3>;
using VectorCodes = triad::Vector<const uint8_t>;
using VectorScales = triad::Vector<const __nv_fp8_e4m3>;

constexpr int group_bytes = 8; // 16 numbers, which share a scale

// decode is a number by its code, the lowest four bits. Exponent and fraction go where fp32 has them, and fp32 multiplies subnormals
// exactly: the power of two corrects the bias, and normalises 0.5 as well.
__device__ float decode(unsigned code) { return __uint_as_float((code & 8) << 28 | (code & 7) << 22) * 0x1p126f; }

// pair adds up the products of two bytes' numbers, exactly.
__device__ float pair(unsigned a, unsigned x) { return decode(a) * decode(x) + decode(a >> 4) * decode(x >> 4); }

// warp_sum: lane 0 gets the sum over the warp.
__device__ float warp_sum(float v) {
	for (int lanes = 16; lanes > 0; lanes /= 2) v += __shfl_down_sync(0xffffffffu, v, lanes);
	return v;
}

// ---- naive ------------------------------------------------------------------------------------------------------------------------------

constexpr int threads = 128;

__global__ void nvfp4_gemv_naive_kernel(Codes a, Scales scale_a, VectorCodes x, VectorScales scale_x, __half *y, int64_t m, int64_t groups,
                                        float alpha) {
	const int64_t r = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (r >= m) return;
	triad::LongSum sum;
	for (int64_t g = 0; g < groups; g++) {
		float part = 0.0f; // of 16 products, at most 576 in steps of a quarter: exact
		for (int64_t c = g * group_bytes; c < (g + 1) * group_bytes; c++) part += pair(a(r, c), x(c));
		sum.add(part * (triad::to_float(scale_a(r, g)) * triad::to_float(scale_x(g))));
	}
	y[r] = __float2half_rn(alpha * sum.total());
}

// ---- warp -------------------------------------------------------------------------------------------------------------------------------

__global__ void nvfp4_gemv_warp_kernel(Codes a, Scales scale_a, VectorCodes x, VectorScales scale_x, __half *y, int64_t m, int64_t groups,
                                       float alpha) {
	const int64_t r = blockIdx.x * static_cast<int64_t>(threads / 32) + threadIdx.x / 32;
	if (r >= m) return; // a whole warp leaves
	triad::LongSum part;
	for (int64_t c = threadIdx.x % 32; c < groups * group_bytes; c += 32) {
		const int64_t g = c / group_bytes;
		part.add(pair(a(r, c), x(c)) * (triad::to_float(scale_a(r, g)) * triad::to_float(scale_x(g))));
	}
	const float sum = warp_sum(part.total());
	if (threadIdx.x % 32 == 0) y[r] = __float2half_rn(alpha * sum);
}

// ---- vec --------------------------------------------------------------------------------------------------------------------------------

// Block (rows, p) adds up part p of four rows. Rows beyond the last one read that one, and write nothing.
__global__ void __launch_bounds__(threads) nvfp4_gemv_vec_kernel(Operands of, float *part_sums, int64_t length, int parts) {
	__shared__ float sums[rows_at_once][threads / 32];
	const int64_t first_row = blockIdx.x / parts * rows_at_once, part = blockIdx.x % parts;
	const int64_t end = (part + 1) * length < of.k ? (part + 1) * length : of.k;
	const uint8_t *a_row[rows_at_once];
	const __nv_fp8_e4m3 *scale_row[rows_at_once];
#pragma unroll
	for (int r = 0; r < rows_at_once; r++) {
		const int64_t row = first_row + r < of.m ? first_row + r : of.m - 1;
		a_row[r] = of.a + row * of.a_row, scale_row[r] = of.scale_a + row * (of.k / 16);
	}
	float sum[rows_at_once] = {};
	for (int64_t c = part * length + threadIdx.x * numbers; c < end; c += blockDim.x * numbers) {
		uint4 a[rows_at_once];
		__nv_fp8x2_e4m3 scale_a[rows_at_once];
#pragma unroll
		for (int r = 0; r < rows_at_once; r++) {
			a[r] = as<uint4>(a_row[r] + c / 2);
			scale_a[r] = as<__nv_fp8x2_e4m3>(scale_row[r] + c / 16);
		}
		const uint4 codes = as<uint4>(of.x + c / 2);
		const float2 scale_x = static_cast<float2>(as<__nv_fp8x2_e4m3>(of.scale_x + c / 16));
		const unsigned words[4] = {codes.x, codes.y, codes.z, codes.w};
		int x[8];
#pragma unroll
		for (int i = 0; i < 8; i++) x[i] = triad::as_int8(triad::doubled_fp4(words[i / 2], i % 2));
#pragma unroll
		for (int r = 0; r < rows_at_once; r++) {
			const float2 scale = static_cast<float2>(scale_a[r]);
			float dot[2];
			dots(a[r], x, dot);
			sum[r] += dot[0] * (scale.x * scale_x.x);
			sum[r] += dot[1] * (scale.y * scale_x.y);
		}
	}
	for (int r = 0; r < rows_at_once; r++) {
		const float of_warp = warp_sum(sum[r]);
		if (threadIdx.x % 32 == 0) sums[r][threadIdx.x / 32] = of_warp;
	}
	__syncthreads();
	const int64_t row = first_row + threadIdx.x;
	if (threadIdx.x >= rows_at_once || row >= of.m) return;
	float total = 0.0f;
	for (int w = 0; w < static_cast<int>(blockDim.x) / 32; w++) total += sums[threadIdx.x][w];
	part_sums[row * parts + part] = 0.25f * total;
}

TRIAD_SPILLS(nvfp4_gemv_stay_kernel, 34, "1024 threads of a multiprocessor hold four rows and the next four, 64 registers each, for sm_80; 4 for sm_90a");

__global__ void nvfp4_gemv_finish_kernel(const float *sums, __half *y, int64_t m, int parts, float alpha) {
	const int64_t r = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (r >= m) return;
	float sum = 0.0f;
	for (int p = 0; p < parts; p++) sum += sums[r * parts + p];
	y[r] = __float2half_rn(alpha * sum);
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

float alpha_of(const triad_call *call) { return static_cast<float>(call->attr[0]); }
__half *output(const triad_call *call) { return static_cast<__half *>(call->out[0].data); }

using Kernel = void (*)(Codes, Scales, VectorCodes, VectorScales, __half *, int64_t, int64_t, float);

int launch(const triad_call *call, Kernel kernel, int rows_of_block) {
	const int64_t m = call->in[0].shape[0];
	if (m == 0) return TRIAD_OK;
	kernel<<<triad::blocks_for(m, rows_of_block), threads, 0, triad::stream_of(call)>>>(
	    Codes(call->in[0]), Scales(call->in[1]), VectorCodes(call->in[2]), VectorScales(call->in[3]), output(call), m,
	    call->in[3].shape[0], alpha_of(call));
	return triad::launched();
}

int nvfp4_gemv_naive(const triad_call *call) { return launch(call, nvfp4_gemv_naive_kernel, threads); }
int nvfp4_gemv_warp(const triad_call *call) { return launch(call, nvfp4_gemv_warp_kernel, threads / 32); }

constexpr int64_t enough_blocks = 1024; // fill a large GPU
constexpr int64_t least_length = 4096;  // numbers of a part: less is not worth a block

// parts is among how many blocks the numbers of a row are split: at least two where they are too many for a block that stays.
int parts(const triad_call *call) {
	const Operands of(call);
	const int64_t blocks = (of.m + rows_at_once - 1) / rows_at_once, least = triad::fp4::stays(of) ? 1 : 2;
	if (blocks == 0 || blocks >= enough_blocks) return static_cast<int>(least);
	const int64_t wanted = (enough_blocks + blocks - 1) / blocks, most = (of.k + least_length - 1) / least_length;
	return static_cast<int>(std::max(least, std::min(wanted, most)));
}

int64_t part_sums(const triad_call *call) {
	return parts(call) == 1 ? 0 : call->in[0].shape[0] * parts(call) * static_cast<int64_t>(sizeof(float));
}

int nvfp4_gemv_vec(const triad_call *call) {
	const Operands of(call);
	if (of.m == 0) return TRIAD_OK;
	const int split = parts(call);
	if (split == 1) return triad::fp4::launch_stay(of, output(call), alpha_of(call), triad::stream_of(call));
	const int64_t length = ((of.k + split - 1) / split + numbers - 1) / numbers * numbers; // parts begin at whole loads
	const int block = length > 2048 ? threads : length > 1024 ? 64 : 32;
	const unsigned grid = static_cast<unsigned>((of.m + rows_at_once - 1) / rows_at_once * split);
	float *sums = static_cast<float *>(call->workspace);
	nvfp4_gemv_vec_kernel<<<grid, block, 0, triad::stream_of(call)>>>(of, sums, length, split);
	nvfp4_gemv_finish_kernel<<<triad::blocks_for(of.m, threads), threads, 0, triad::stream_of(call)>>>(sums, output(call), of.m, split,
	                                                                                                   alpha_of(call));
	return triad::launched();
}

void check_loads(triad::Check &check, const triad_call *call) {
	check.that(call->in[0].shape[1] % (2 * group_bytes) == 0, "k = %lld is no multiple of 32",
	           static_cast<long long>(2 * call->in[0].shape[1]));
}

const triad::Limit whole_loads = triad::limit("k a multiple of 32", check_loads);

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(nvfp4_gemv, naive, forward, .contract("fp32").dtypes(triad::bit(TRIAD_E2M1X2)).outputs(1).launch(nvfp4_gemv_naive))
TRIAD_KERNEL(nvfp4_gemv, warp, forward, .contract("fp32").dtypes(triad::bit(TRIAD_E2M1X2)).outputs(1).launch(nvfp4_gemv_warp))
TRIAD_KERNEL(nvfp4_gemv, vec, forward,
             .contract("fp32").dtypes(triad::bit(TRIAD_E2M1X2)).outputs(1).workspace(part_sums)
             .limits(whole_loads, triad::contiguous_columns("a"), triad::stepped(16, "a"), triad::contiguous("x", "scale_a", "scale_x"),
                     triad::aligned(16, "a", "x"), triad::aligned(2, "scale_a", "scale_x"))
             .launch(nvfp4_gemv_vec))
