// whole_naive.cuh: attention over latent rows, a block for each result row.
// Pipeline: forward and backward take 64 of the others in a step: a warp for each pair of a row and a key (its scores, and of a gradient also grad_o .
// v) -> weights in shared memory -> a thread for each column adds them up.
#ifndef TRIAD_LATENT_WHOLE_NAIVE_CUH
#define TRIAD_LATENT_WHOLE_NAIVE_CUH
#include "latent/whole.cuh"
#include "reduce.cuh"
#include "register.cuh"

namespace triad {
namespace mla {

constexpr int naive_threads = 128, most_dim = 1024, naive_step = 64, naive_columns = most_dim / naive_threads;

// dot is the product of two rows, by a warp.
template <class T> __device__ float dot(const View<T> &x, int x_row, const View<T> &y, int y_row, int64_t b, int columns) {
	const T *const p = x.row(b, x_row), *const q = y.row(b, y_row);
	LongSum sum;
	for (int c = static_cast<int>(threadIdx.x) % warp_size; c < columns; c += warp_size) sum.add(to_float(p[c * x.column]) * to_float(q[c * y.column]));
	return warp_reduce(sum.total(), Sum());
}

template <class T> __global__ void __launch_bounds__(naive_threads) naive_forward(Forward<T> a) {
	__shared__ float weight[naive_step];
	const Shape &s = a.s;
	const int64_t b = blockIdx.x / s.rows();
	const int row = static_cast<int>(blockIdx.x % s.rows()), t = static_cast<int>(threadIdx.x), keys = s.visible(row);
	float sum[naive_columns] = {}, max = -INFINITY, total = 0;
	for (int first = 0; first < keys; first += naive_step) {
		const int here = min(naive_step, keys - first);
		__syncthreads(); // the weights before have been read
		for (int j = t / warp_size; j < here; j += naive_threads / warp_size) {
			const float score = dot(a.q, row, a.kv, first + j, b, s.dim) * s.scale;
			if (t % warp_size == 0) weight[j] = score;
		}
		__syncthreads();
		float top = max;
		for (int j = 0; j < here; j++) top = fmaxf(top, weight[j]);
		__syncthreads(); // every thread has the maximum
		if (t < here) weight[t] = expf(weight[t] - base(top));
		__syncthreads();
		const float decay = expf(max - base(top));
		max = top;
		float more = 0;
		for (int j = 0; j < here; j++) more += weight[j];
		total = total * decay + more;
#pragma unroll
		for (int k = 0; k < naive_columns; k++) {
			const int c = t + k * naive_threads;
			if (c >= s.dim_v) break;
			float part = 0;
#pragma unroll 1
			for (int j = 0; j < here; j++) part += weight[j] * a.kv.at(b, first + j, c);
			sum[k] = sum[k] * decay + part;
		}
	}
#pragma unroll
	for (int k = 0; k < naive_columns; k++) {
		const int c = t + k * naive_threads;
		if (c < s.dim_v) a.o[static_cast<int64_t>(blockIdx.x) * s.dim_v + c] = from_float<T>(keys > 0 ? sum[k] / total : 0.0f);
	}
	if (a.lse != nullptr && t == 0) a.lse[s.statistic(b, row)] = keys > 0 ? log_of(max, total) : -INFINITY;
}

// A warp for each row: delta.
template <class T> __global__ void __launch_bounds__(naive_threads) naive_delta(Backward<T> a) {
	const int64_t number = static_cast<int64_t>(blockIdx.x) * (naive_threads / warp_size) + threadIdx.x / warp_size;
	if (number >= a.s.all_rows()) return;
	const int row = static_cast<int>(number % a.s.rows());
	const float delta = dot(a.o, row, a.grad_o, row, number / a.s.rows(), a.s.dim_v);
	if (threadIdx.x % warp_size == 0) a.delta[number] = delta;
}

// A block for each row of grad_q, over the keys that it sees; OfKeys: for each row of grad_kv, over the rows that see it.
template <class T, bool OfKeys> __global__ void __launch_bounds__(naive_threads) naive_gradient(Backward<T> a) {
	__shared__ float weight[naive_step], gradient[naive_step];
	const Shape &s = a.s;
	const int count = OfKeys ? s.keys : s.rows(), own = static_cast<int>(blockIdx.x % count), t = static_cast<int>(threadIdx.x);
	const int64_t b = blockIdx.x / count;
	const int end = OfKeys ? s.rows() : s.visible(own);
	float sum[naive_columns] = {};
	for (int first = OfKeys ? s.first_row(own) : 0; first < end; first += naive_step) {
		const int here = min(naive_step, end - first);
		__syncthreads(); // the weights before have been read
		for (int x = t / warp_size; x < here; x += naive_threads / warp_size) {
			const int row = OfKeys ? first + x : own, key = OfKeys ? own : first + x;
			const float score = dot(a.q, row, a.kv, key, b, s.dim) * s.scale, dp = dot(a.grad_o, row, a.kv, key, b, s.dim_v);
			const float p = weight_of(score, a.lse[s.statistic(b, row)]);
			if (t % warp_size == 0) weight[x] = p, gradient[x] = p * (dp - a.delta[b * s.rows() + row]) * s.scale;
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < naive_columns; k++) {
			const int c = t + k * naive_threads;
			if (c >= s.dim) break;
			float part = 0;
#pragma unroll 1
			for (int x = 0; x < here; x++) part += gradient[x] * (OfKeys ? a.q : a.kv).at(b, first + x, c);
			if (OfKeys && c < s.dim_v)
#pragma unroll 1
				for (int x = 0; x < here; x++) part += weight[x] * a.grad_o.at(b, first + x, c);
			sum[k] += part;
		}
	}
	T *const to = OfKeys ? a.grad_kv : a.grad_q;
#pragma unroll
	for (int k = 0; k < naive_columns; k++) {
		const int c = t + k * naive_threads;
		if (c < s.dim) to[static_cast<int64_t>(blockIdx.x) * s.dim + c] = from_float<T>(sum[k]);
	}
}

template <class T> int forward_naive(const triad_call *call) {
	const Forward<T> a(call);
	if (a.s.all_rows() > 0) naive_forward<T><<<static_cast<unsigned>(a.s.all_rows()), naive_threads, 0, stream_of(call)>>>(a);
	return launched();
}

inline int64_t delta_bytes(const triad_call *call) { return Shape(call).all_rows() * static_cast<int64_t>(sizeof(float)); }

template <class T> int launch_delta(const Backward<T> &a, cudaStream_t stream) {
	constexpr int rows = naive_threads / warp_size;
	if (a.s.all_rows() > 0) naive_delta<T><<<static_cast<unsigned>((a.s.all_rows() + rows - 1) / rows), naive_threads, 0, stream>>>(a);
	return launched();
}

template <class T> int backward_naive(const triad_call *call) {
	const Backward<T> a(call);
	const cudaStream_t stream = stream_of(call);
	const int64_t rows = a.s.all_rows(), keys = a.s.batch * a.s.keys;
	if (const int status = launch_delta(a, stream)) return status;
	if (rows > 0 && a.grad_q) naive_gradient<T, false><<<static_cast<unsigned>(rows), naive_threads, 0, stream>>>(a);
	if (keys > 0 && a.grad_kv) naive_gradient<T, true><<<static_cast<unsigned>(keys), naive_threads, 0, stream>>>(a);
	return launched();
}

} // namespace mla
} // namespace triad
#endif
