// Planted bugs in layer normalisation: a block of two warps a row, two passes. `right` is right; every other variant is it with one line
// changed.
#include "arguments.cuh"
#include "element.cuh"
#include "reduce.cuh"
#include "register.cuh"

namespace {

using triad::from_float;
using triad::to_float;

enum Bug { right, divides_by_n_minus_1, eps_outside_the_root, one_pass_variance, beta_missing, mean_not_subtracted, rstd_of_row_0, tail_not_reduced,
           last_row_not_launched, one_past_the_end, missing_barrier, shuffle_of_half_a_warp, stale_shared_memory, plain_add, scribbles };

constexpr int threads = 64;

template <Bug B> __device__ float total(float v, float *scratch) {
	for (int lane = B == shuffle_of_half_a_warp ? 8 : 16; lane > 0; lane /= 2) v += __shfl_xor_sync(triad::all_lanes, v, lane);
	__syncthreads();
	if (threadIdx.x % 32 == 0 && (B != stale_shared_memory || threadIdx.x == 0)) scratch[threadIdx.x / 32] = v;
	if (B != missing_barrier) __syncthreads();
	return scratch[0] + scratch[1];
}

struct Output {
	void *y;
	float *mean, *rstd;
};

template <class T, Bug B>
__global__ void layernorm(T *x, const T *weight, const T *bias, Output out, int64_t rows, int64_t cols, float eps) {
	__shared__ float scratch[2], sum;
	const int64_t row = blockIdx.x, last = B == tail_not_reduced && cols > threads ? cols - cols % threads : cols;
	T *in = x + row * cols;
	const T *statistics = x + (B == rstd_of_row_0 ? 0 : row * cols);
	float mine = 0;
	for (int64_t c = threadIdx.x; c < last; c += threads) mine += to_float(in[c]);
	if (threadIdx.x == 0) sum = 0;
	__syncthreads();
	if (B == plain_add) {
		sum += mine;
		__syncthreads();
	}
	const float mean = (B == plain_add ? sum : total<B>(mine, scratch)) / cols;
	mine = 0;
	for (int64_t c = threadIdx.x; c < last; c += threads) {
		const float d = to_float(statistics[c]) - (B == one_pass_variance ? 0 : mean);
		mine += d * d;
	}
	float variance = total<B>(mine, scratch) / (B == divides_by_n_minus_1 ? cols - 1 : cols);
	if (B == one_pass_variance) variance -= mean * mean;
	const float rstd = B == eps_outside_the_root ? 1 / (sqrtf(variance) + eps) : 1 / sqrtf(variance + eps);
	for (int64_t c = threadIdx.x; c < cols; c += threads) {
		const float normalised = (to_float(in[c]) - (B == mean_not_subtracted ? 0 : mean)) * rstd * to_float(weight[c]);
		static_cast<T *>(out.y)[row * cols + c] = from_float<T>(B == beta_missing ? normalised : normalised + to_float(bias[c]));
	}
	if (threadIdx.x != 0) return;
	out.mean[row] = mean;
	out.rstd[row] = rstd;
	if (B == one_past_the_end) out.rstd[row + 1] = rstd;
	if (B == scribbles) in[0] = from_float<T>(mean);
}

template <Bug B> struct Forward {
	template <class T> static int launch(const triad_call *call) {
		const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1], blocks = rows - (B == last_row_not_launched && rows > 1 ? 1 : 0);
		if (rows == 0) return TRIAD_OK;
		const Output out = {call->out[0].data, static_cast<float *>(call->out[1].data), static_cast<float *>(call->out[2].data)};
		layernorm<T, B><<<static_cast<unsigned>(blocks), threads, 0, triad::stream_of(call)>>>(
		    static_cast<T *>(call->in[0].data), static_cast<const T *>(call->in[1].data), static_cast<const T *>(call->in[2].data), out, rows, cols,
		    static_cast<float>(call->attr[0]));
		return triad::launched();
	}
};

enum BackwardBug { right_backward, mean_term_missing, xhat_term_missing, gamma_ignored, last_row_dropped, bias_gets_gamma, plain_add_of_parts };

struct Gradients {
	void *x, *weight, *bias;
};

// A thread a row for grad_x, then a thread a column for the sums over rows.
template <class T, BackwardBug B>
__global__ void backward_x(const T *x, const T *weight, const float *mean, const float *rstd, const T *dy, Gradients out, int64_t rows, int64_t cols) {
	const int64_t r = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (r >= rows) return;
	const auto xhat = [&](int64_t c) { return (to_float(x[r * cols + c]) - mean[r]) * rstd[r]; };
	const auto g = [&](int64_t c) { return to_float(dy[r * cols + c]) * (B == gamma_ignored ? 1 : to_float(weight[c])); };
	float c1 = 0, c2 = 0;
	for (int64_t c = 0; c < cols; c++) c1 += g(c), c2 += g(c) * xhat(c);
	c1 = B == mean_term_missing ? 0 : c1 / cols;
	c2 = B == xhat_term_missing ? 0 : c2 / cols;
	for (int64_t c = 0; c < cols; c++) static_cast<T *>(out.x)[r * cols + c] = from_float<T>(rstd[r] * (g(c) - c1 - xhat(c) * c2));
}

template <class T, BackwardBug B>
__global__ void backward_parameters(const T *x, const T *weight, const float *mean, const float *rstd, const T *dy, Gradients out, int64_t rows, int64_t cols) {
	constexpr int parts = B == plain_add_of_parts ? 8 : 1; // threads a column
	__shared__ float sums[threads];
	const int column = threadIdx.x / parts;
	const int64_t c = blockIdx.x * static_cast<int64_t>(threads / parts) + column;
	float to_weight = 0, to_bias = 0;
	for (int64_t r = threadIdx.x % parts; c < cols && r < (B == last_row_dropped ? rows - 1 : rows); r += parts) {
		const float d = to_float(dy[r * cols + c]);
		to_weight += d * (to_float(x[r * cols + c]) - mean[r]) * rstd[r];
		to_bias += B == bias_gets_gamma ? d * to_float(weight[c]) : d;
	}
	for (float *part : {&to_weight, &to_bias}) {
		if (parts == 1) break;
		__syncthreads();
		sums[column] = 0;
		__syncthreads();
		sums[column] += *part;
		__syncthreads();
		*part = sums[column];
	}
	if (c >= cols) return;
	static_cast<T *>(out.weight)[c] = from_float<T>(to_weight);
	static_cast<T *>(out.bias)[c] = from_float<T>(to_bias);
}

template <BackwardBug B> struct Backward {
	template <class T> static int launch(const triad_call *call) {
		const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
		const auto in = [&](int i) { return static_cast<const T *>(call->in[i].data); };
		const auto statistic = [&](int i) { return static_cast<const float *>(call->in[i].data); };
		const auto blocks = [](int64_t n) { return static_cast<unsigned>((n + threads - 1) / threads); };
		const Gradients out = {call->out[0].data, call->out[1].data, call->out[2].data};
		const cudaStream_t stream = triad::stream_of(call);
		if (rows > 0) backward_x<T, B><<<blocks(rows), threads, 0, stream>>>(in(0), in(1), statistic(2), statistic(3), in(4), out, rows, cols);
		backward_parameters<T, B><<<blocks(B == plain_add_of_parts ? 8 * cols : cols), threads, 0, stream>>>(in(0), in(1), statistic(2), statistic(3), in(4), out, rows, cols);
		return triad::launched();
	}
};

int accepts(const triad_call *call, char *why, int32_t bytes) {
	triad::Check check(why, bytes);
	for (int i = 0; i < call->n_in; i++) check.contiguous(call->in[i], "an input");
	return check.status();
}

} // namespace

#define FORWARD(bug) TRIAD_KERNEL(layernorm, bug, forward, .contract("fp32").dtypes(triad::floats).outputs(7).accepts(accepts).launch(TRIAD_BY_DTYPE(Forward<bug>::launch)))
#define BACKWARD(bug) TRIAD_KERNEL(layernorm, bug, backward, .contract("fp32").dtypes(triad::floats).outputs(7).forward("right").accepts(accepts).launch(TRIAD_BY_DTYPE(Backward<bug>::launch)))
FORWARD(right)
FORWARD(divides_by_n_minus_1)
FORWARD(eps_outside_the_root)
FORWARD(one_pass_variance)
FORWARD(beta_missing)
FORWARD(mean_not_subtracted)
FORWARD(rstd_of_row_0)
FORWARD(tail_not_reduced)
FORWARD(last_row_not_launched)
FORWARD(one_past_the_end)
FORWARD(missing_barrier)
FORWARD(shuffle_of_half_a_warp)
FORWARD(stale_shared_memory)
FORWARD(plain_add)
FORWARD(scribbles)
BACKWARD(right_backward)
BACKWARD(mean_term_missing)
BACKWARD(xhat_term_missing)
BACKWARD(gamma_ignored)
BACKWARD(last_row_dropped)
BACKWARD(bias_gets_gamma)
BACKWARD(plain_add_of_parts)
