// Planted bugs in the fp8 product: a block of 8x8 threads a tile of c, operands staged 8 at a time in shared memory. `right` is right; every
// other variant is it with one line changed.
#include "arguments.cuh"
#include "element.cuh"
#include "fp8.cuh"
#include "register.cuh"

namespace {

enum Bug { right, last_block_of_k_missing, k_off_by_one, scale_a_twice, scale_a_of_row_0, scale_missing, e5m2_read_as_e4m3, bf16_accumulator, no_blocks_of_scales,
           row_tail_not_launched, one_past_the_end, missing_barrier, stale_tile, scribbles };

constexpr int tile = 8;

struct Operand {
	uint8_t *codes;
	const float *scale;
	int32_t dtype;
	int scaling; // tensor, row, block
	int64_t rows, k, row_group;

	__device__ float value(int64_t row, int64_t i, bool as_e4m3) const {
		const uint32_t code = codes[row * k + i];
		return dtype == TRIAD_E4M3 || as_e4m3 ? triad::decode_fp8<TRIAD_E4M3>(code) : triad::decode_fp8<TRIAD_E5M2>(code);
	}
	__device__ float scale_of(int64_t row, int64_t block) const {
		if (scaling == 0) return scale[0];
		if (scaling == 1) return scale[row];
		return scale[row / row_group * ((k + 127) / 128) + block];
	}
};

__device__ void store(void *c, int32_t dtype, int64_t i, float x) {
	if (dtype == TRIAD_BF16) static_cast<__nv_bfloat16 *>(c)[i] = triad::from_float<__nv_bfloat16>(x);
	if (dtype == TRIAD_F16) static_cast<__half *>(c)[i] = triad::from_float<__half>(x);
	if (dtype == TRIAD_F32) static_cast<float *>(c)[i] = x;
}

template <Bug B> __global__ void product(Operand a, Operand b, void *c, int32_t out) {
	__shared__ float a_tile[tile][tile], b_tile[tile][tile];
	const int x = threadIdx.x, y = threadIdx.y;
	const int64_t row = blockIdx.y * static_cast<int64_t>(tile) + y, col = blockIdx.x * static_cast<int64_t>(tile) + x;
	const int64_t k = B == k_off_by_one ? a.k - 1 : B == last_block_of_k_missing ? a.k / 128 * 128 : a.k;
	float sum = 0, part = 0;
	for (int64_t k0 = 0; k0 < k; k0 += tile) {
		if (B != stale_tile || k0 + x < k) a_tile[y][x] = row < a.rows && k0 + x < k ? a.value(row, k0 + x, B == e5m2_read_as_e4m3) : 0;
		const int64_t b_row = blockIdx.x * static_cast<int64_t>(tile) + y;
		if (B != stale_tile || k0 + x < k) b_tile[y][x] = b_row < b.rows && k0 + x < k ? b.value(b_row, k0 + x, B == e5m2_read_as_e4m3) : 0;
		if (B != missing_barrier) __syncthreads();
		for (int i = 0; i < tile; i++) {
			part += a_tile[y][i] * b_tile[x][i];
			if (B == bf16_accumulator) part = triad::to_float(triad::from_float<__nv_bfloat16>(part));
		}
		__syncthreads();
		const bool ends = (k0 + tile) % 128 == 0 || k0 + tile >= k;
		if (!ends || row >= a.rows || col >= b.rows) continue;
		const int64_t block = B == no_blocks_of_scales ? 0 : k0 / 128;
		const float scale_a = a.scale_of(B == scale_a_of_row_0 ? 0 : row, block), scale_b = b.scale_of(col, block);
		sum += triad::scaled(part, triad::split_scale(B == scale_missing ? 1 : scale_a), triad::split_scale(B == scale_a_twice ? scale_a : scale_b));
		part = 0;
	}
	if (row < a.rows && col < b.rows) store(c, out, row * b.rows + col, sum);
	if (B == one_past_the_end && row == a.rows - 1 && col == b.rows - 1) store(c, out, row * b.rows + col + 1, 0);
	if (B == scribbles && row == 0 && col == 0 && a.k > 0) a.codes[0] ^= 1;
}

Operand operand(const triad_call *call, int i, int64_t row_group) {
	const triad_tensor &t = call->in[i];
	return {static_cast<uint8_t *>(t.data), static_cast<const float *>(call->in[i + 1].data), t.dtype, static_cast<int>(call->attr[0]), t.shape[0], t.shape[1],
	        row_group};
}

template <Bug B> void multiply(const triad_call *call, int first, int second, int output) {
	const Operand a = operand(call, first, 1), b = operand(call, second, 128);
	if (a.rows == 0 || b.rows == 0) return;
	const int64_t rows = B == row_tail_not_launched ? a.rows / tile : (a.rows + tile - 1) / tile;
	if (rows == 0) return;
	product<B><<<dim3(static_cast<unsigned>((b.rows + tile - 1) / tile), static_cast<unsigned>(rows)), dim3(tile, tile), 0, triad::stream_of(call)>>>(
	    a, b, call->out[output].data, call->out[output].dtype);
}

template <Bug B> int forward(const triad_call *call) {
	multiply<B>(call, 0, 2, 0);
	return triad::launched();
}

template <Bug A, Bug B> int backward(const triad_call *call) {
	multiply<A>(call, 0, 2, 0);
	multiply<B>(call, 4, 6, 1);
	return triad::launched();
}

int accepts(const triad_call *call, char *why, int32_t bytes) {
	triad::Check check(why, bytes);
	for (int i = 0; i < call->n_in; i++) check.contiguous(call->in[i], "an input");
	return check.status();
}

} // namespace

#define FORWARD(bug) TRIAD_KERNEL(fp8_gemm, bug, forward, .contract("promoted").dtypes(triad::bit(TRIAD_E4M3) | triad::bit(TRIAD_E5M2)).outputs(1).accepts(accepts).launch(forward<bug>))
#define BACKWARD(name, a, b) TRIAD_KERNEL(fp8_gemm, name, backward, .contract("promoted").dtypes(triad::bit(TRIAD_E5M2)).outputs(3).accepts(accepts).launch(backward<a, b>))
FORWARD(right)
FORWARD(last_block_of_k_missing)
FORWARD(k_off_by_one)
FORWARD(scale_a_twice)
FORWARD(scale_a_of_row_0)
FORWARD(scale_missing)
FORWARD(e5m2_read_as_e4m3)
FORWARD(bf16_accumulator)
FORWARD(no_blocks_of_scales)
FORWARD(row_tail_not_launched)
FORWARD(one_past_the_end)
FORWARD(missing_barrier)
FORWARD(stale_tile)
FORWARD(scribbles)
BACKWARD(right, right, right)
BACKWARD(scale_of_g_missing, scale_missing, right)
BACKWARD(e5m2_read_as_e4m3, e5m2_read_as_e4m3, e5m2_read_as_e4m3)
BACKWARD(last_block_of_m_missing, right, last_block_of_k_missing)
