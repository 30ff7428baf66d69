// Planted bugs in softmax: a block of two warps a row. `right` is right; every other variant is it with one line changed. The tests expect
// of each of them how it is rejected.
#include <map>

#include "arguments.cuh"
#include "element.cuh"
#include "reduce.cuh"
#include "register.cuh"

namespace {

using triad::from_float;
using triad::to_float;

enum Bug { right, no_max, max_from_zero, exp2_without_log2e, tail_not_summed, row_above, last_row_not_launched, one_past_the_end, missing_barrier,
           shuffle_of_half_a_warp, stale_shared_memory, plain_add, scribbles, cached };

constexpr int threads = 64;

struct Rows {
	int64_t rows, cols, stride;
};

template <Bug B> __device__ float total(float v, bool maximum, float *scratch) {
	for (int lane = B == shuffle_of_half_a_warp ? 4 : 16; lane > 0; lane /= 2) {
		const float other = __shfl_xor_sync(triad::all_lanes, v, lane);
		v = maximum ? fmaxf(v, other) : v + other;
	}
	__syncthreads();
	if (threadIdx.x % 32 == 0 && (B != stale_shared_memory || threadIdx.x == 0)) scratch[threadIdx.x / 32] = v;
	if (B != missing_barrier) __syncthreads();
	return maximum ? fmaxf(scratch[0], scratch[1]) : scratch[0] + scratch[1];
}

template <class T, Bug B> __global__ void softmax(T *x, T *y, Rows s) {
	__shared__ float scratch[2], sum;
	const int64_t row = blockIdx.x, from = B == row_above && row > 0 ? row - 1 : row;
	const int64_t last = B == tail_not_summed && s.cols > threads ? s.cols - s.cols % threads : s.cols;
	T *in = x + row * s.stride;
	float max = B == max_from_zero ? 0 : -INFINITY, mine = 0;
	for (int64_t c = threadIdx.x; c < s.cols; c += threads) max = fmaxf(max, to_float(x[from * s.stride + c]));
	max = B == no_max ? 0 : total<B>(max, true, scratch);
	const auto e = [&](int64_t c) { return B == exp2_without_log2e ? exp2f(to_float(in[c]) - max) : expf(to_float(in[c]) - max); };
	for (int64_t c = threadIdx.x; c < last; c += threads) mine += e(c);
	if (B == plain_add) {
		if (threadIdx.x == 0) sum = 0;
		__syncthreads();
		sum += mine;
		__syncthreads();
	}
	const float scale = 1 / (B == plain_add ? sum : total<B>(mine, false, scratch));
	for (int64_t c = threadIdx.x; c < s.cols; c += threads) y[row * s.cols + c] = from_float<T>(e(c) * scale);
	if (B == one_past_the_end && threadIdx.x == 0) y[(row + 1) * s.cols] = from_float<T>(0);
	if (B == scribbles && threadIdx.x == 0) in[0] = from_float<T>(max);
}

template <Bug B> struct Forward {
	template <class T> static int launch(const triad_call *call) {
		const triad_tensor &x = call->in[0];
		const Rows s = {x.shape[0], x.shape[1], x.stride[0]};
		T *y = static_cast<T *>(call->out[0].data);
		static std::map<int64_t, T *> kept; // by the number of elements
		if (s.rows * s.cols == 0) return TRIAD_OK;
		const int64_t bytes = s.rows * s.cols * static_cast<int64_t>(sizeof(T));
		if (B == cached && kept.count(bytes)) return static_cast<int>(cudaMemcpy(y, kept[bytes], bytes, cudaMemcpyDeviceToDevice));
		const int64_t blocks = s.rows - (B == last_row_not_launched && s.rows > 1 ? 1 : 0);
		softmax<T, B><<<static_cast<unsigned>(blocks), threads, 0, triad::stream_of(call)>>>(static_cast<T *>(x.data), y, s);
		if (B == cached) {
			cudaMalloc(&kept[bytes], bytes);
			cudaMemcpy(kept[bytes], y, bytes, cudaMemcpyDeviceToDevice);
		}
		return triad::launched();
	}
};

// grad_x = y * (grad_y - sum y * grad_y), a thread a row.
enum BackwardBug { right_backward, dot_missing, sign, dot_of_first_half, upstream_ignored, last_rows_not_launched, one_past_the_gradient };

template <class T, BackwardBug B> __global__ void backward(const T *y, const T *dy, T *dx, int64_t rows, int64_t cols, int64_t y_row, int64_t dy_row) {
	const int64_t r = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (r >= rows) return;
	const auto g = [&](int64_t c) { return B == upstream_ignored ? 1.0f : to_float(dy[r * dy_row + c]); };
	float dot = 0;
	for (int64_t c = 0; c < (B == dot_of_first_half ? (cols + 1) / 2 : cols); c++) dot += to_float(y[r * y_row + c]) * g(c);
	if (B == dot_missing) dot = 0;
	for (int64_t c = 0; c < cols; c++) dx[r * cols + c] = from_float<T>(to_float(y[r * y_row + c]) * (B == sign ? g(c) + dot : g(c) - dot));
	if (B == one_past_the_gradient) dx[(r + 1) * cols] = from_float<T>(0);
}

template <BackwardBug B> struct Backward {
	template <class T> static int launch(const triad_call *call) {
		const triad_tensor &y = call->in[0], &dy = call->in[1];
		const int64_t rows = y.shape[0], cols = y.shape[1];
		if (rows * cols == 0) return TRIAD_OK;
		const int64_t blocks = B == last_rows_not_launched && rows > 8 ? rows / 8 : (rows + 7) / 8;
		backward<T, B><<<static_cast<unsigned>(blocks), 8, 0, triad::stream_of(call)>>>(
		    static_cast<const T *>(y.data), static_cast<const T *>(dy.data), static_cast<T *>(call->out[0].data), rows, cols, y.stride[0], dy.stride[0]);
		return triad::launched();
	}
};

int accepts(const triad_call *call, char *why, int32_t bytes) {
	triad::Check check(why, bytes);
	for (int i = 0; i < call->n_in; i++) check.contiguous_columns(call->in[i], "an input");
	return check.status();
}

} // namespace

#define FORWARD(bug) TRIAD_KERNEL(softmax, bug, forward, .contract("fp32").dtypes(triad::floats).outputs(1).accepts(accepts).launch(TRIAD_BY_DTYPE(Forward<bug>::launch)))
#define BACKWARD(bug) TRIAD_KERNEL(softmax, bug, backward, .contract("fp32").dtypes(triad::floats).outputs(1).forward("right").accepts(accepts).launch(TRIAD_BY_DTYPE(Backward<bug>::launch)))
FORWARD(right)
FORWARD(no_max)
FORWARD(max_from_zero)
FORWARD(exp2_without_log2e)
FORWARD(tail_not_summed)
FORWARD(row_above)
FORWARD(last_row_not_launched)
FORWARD(one_past_the_end)
FORWARD(missing_barrier)
FORWARD(shuffle_of_half_a_warp)
FORWARD(stale_shared_memory)
FORWARD(plain_add)
FORWARD(scribbles)
FORWARD(cached)
BACKWARD(right_backward)
BACKWARD(dot_missing)
BACKWARD(sign)
BACKWARD(dot_of_first_half)
BACKWARD(upstream_ignored)
BACKWARD(last_rows_not_launched)
BACKWARD(one_past_the_gradient)
