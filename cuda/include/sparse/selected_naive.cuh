// selected_naive.cuh: attention over selected blocks and a window, a block for each result row.
// Pipeline, forward: for each softmax, 64 keys of a run in a step: a warp a score -> weights in shared memory -> a thread for two columns adds values up.
// Backward: a block a query and head does this again, keeps lse and delta, and adds up grad_q; then a block a key asks each query whether it sees it.
#ifndef TRIAD_SPARSE_SELECTED_NAIVE_CUH
#define TRIAD_SPARSE_SELECTED_NAIVE_CUH
#include "reduce.cuh"
#include "sparse/selected.cuh"

namespace triad {
namespace sparse {

constexpr int naive_threads = 128, naive_warps = naive_threads / warp_size, most_dim = 256, naive_step = 64;
constexpr int naive_columns = most_dim / naive_threads;

// dot is the product of two rows, by a warp.
template <class T> __device__ float dot(const T *x, int64_t x_column, const T *y, int64_t y_column, int columns) {
	LongSum sum;
	for (int c = static_cast<int>(threadIdx.x) % warp_size; c < columns; c += warp_size) sum.add(to_float(x[c * x_column]) * to_float(y[c * y_column]));
	return warp_reduce(sum.total(), Sum());
}

// score is that of a query and a key, by a warp.
template <class Call> __device__ float score(const Call &a, const Row &r, int j) {
	return dot(a.q.row(r.b, r.t, r.h), a.q.column, a.k.row(r.b, j, r.h_kv), a.k.column, a.s.dim) * a.s.scale;
}

// Mean is softmax(scores) v in one branch, in columns threadIdx.x + k * naive_threads.
struct Mean {
	float o[naive_columns] = {}, max = -INFINITY, total = 0;
	bool seen = false;
};

template <class Call> __device__ Mean attend(const Call &a, const Row &r, int branch, float *weight) {
	const int t = static_cast<int>(threadIdx.x);
	Mean m;
	for (int i = a.s.first_run(branch); i < a.s.last_run(branch); i++) {
		const Run run = a.run(r, i);
		for (int first = run.first; first < run.end; first += naive_step) {
			const int here = min(naive_step, run.end - first);
			__syncthreads(); // the weights before have been read
			for (int j = t / warp_size; j < here; j += naive_warps) {
				const float s = score(a, r, first + j);
				if (t % warp_size == 0) weight[j] = s;
			}
			__syncthreads();
			float top = m.max, more = 0;
			for (int j = 0; j < here; j++) top = fmaxf(top, weight[j]);
			__syncthreads(); // every thread has the maximum
			if (t < here) weight[t] = expf(weight[t] - base(top));
			__syncthreads();
			const float decay = expf(m.max - base(top));
			for (int j = 0; j < here; j++) more += weight[j];
			m.max = top;
			m.total = m.total * decay + more;
			m.seen = true;
#pragma unroll
			for (int k = 0; k < naive_columns; k++) {
				const int c = t + k * naive_threads;
				if (c >= a.s.dim_v) break;
				float part = 0;
#pragma unroll 1
				for (int j = 0; j < here; j++) part += weight[j] * to_float(a.v.row(r.b, first + j, r.h_kv)[c * a.v.column]);
				m.o[k] = m.o[k] * decay + part;
			}
		}
	}
#pragma unroll
	for (int k = 0; k < naive_columns; k++)
		if (m.seen) m.o[k] /= m.total;
	return m;
}

template <class T> __global__ void __launch_bounds__(naive_threads) naive_forward(Forward<T> a) {
	__shared__ float weight[naive_step];
	const Row r = a.row(blockIdx.x);
	float sum[naive_columns] = {};
	for (int branch = 0; branch < branches; branch++) {
		const Mean m = attend(a, r, branch, weight);
		const float gate = a.gate(r, branch);
#pragma unroll
		for (int k = 0; k < naive_columns; k++)
			if (m.seen) sum[k] += gate * m.o[k];
	}
#pragma unroll
	for (int k = 0; k < naive_columns; k++) {
		const int c = static_cast<int>(threadIdx.x) + k * naive_threads;
		if (c < a.s.dim_v) a.o[static_cast<int64_t>(blockIdx.x) * a.s.dim_v + c] = from_float<T>(sum[k]);
	}
}

// gradient_of is gate * scale * dS of a query and a key in one branch, by a warp; weight its gate * P.
template <class T> __device__ float gradient_of(const Backward<T> &a, const Row &r, int j, int branch, Saved saved, float &weight) {
	const float dp = dot(a.grad_o.row(r.b, r.t, r.h), a.grad_o.column, a.v.row(r.b, j, r.h_kv), a.v.column, a.s.dim_v);
	weight = a.gate(r, branch) * expf(score(a, r, j) - saved.lse);
	return weight * (dp - saved.delta) * a.s.scale;
}

// A block for each row of grad_q.
template <class T> __global__ void __launch_bounds__(naive_threads) naive_queries(Backward<T> a) {
	__shared__ float weight[naive_step], scratch[naive_warps];
	const Row r = a.row(blockIdx.x);
	const int t = static_cast<int>(threadIdx.x);
	float sum[naive_columns] = {};
	for (int branch = 0; branch < branches; branch++) {
		const Mean m = attend(a, r, branch, weight);
		float delta = 0;
#pragma unroll
		for (int k = 0; k < naive_columns; k++) {
			const int c = t + k * naive_threads;
			if (c < a.s.dim_v) delta += m.o[k] * to_float(a.grad_o.row(r.b, r.t, r.h)[c * a.grad_o.column]);
		}
		const Saved saved = {m.max + logf(m.total), block_reduce<naive_threads>(delta, Sum(), scratch)};
		if (t == 0) a.keep(r, branch, saved);
		for (int i = a.s.first_run(branch); i < a.s.last_run(branch); i++) {
			const Run run = a.run(r, i);
			for (int first = run.first; first < run.end; first += naive_step) {
				const int here = min(naive_step, run.end - first);
				__syncthreads(); // the gradients before have been read
				for (int j = t / warp_size; j < here; j += naive_warps) {
					float p;
					const float ds = gradient_of(a, r, first + j, branch, saved, p);
					if (t % warp_size == 0) weight[j] = ds;
				}
				__syncthreads();
#pragma unroll
				for (int k = 0; k < naive_columns; k++) {
					const int c = t + k * naive_threads;
					if (c >= a.s.dim) break;
#pragma unroll 1
					for (int j = 0; j < here; j++) sum[k] += weight[j] * to_float(a.k.row(r.b, first + j, r.h_kv)[c * a.k.column]);
				}
			}
		}
	}
#pragma unroll
	for (int k = 0; k < naive_columns; k++) {
		const int c = t + k * naive_threads;
		if (c < a.s.dim && a.grad_q != nullptr) a.grad_q[static_cast<int64_t>(blockIdx.x) * a.s.dim + c] = from_float<T>(sum[k]);
	}
}

// A block for each row of grad_k and grad_v, over the heads of the queries from its own token on.
template <class T> __global__ void __launch_bounds__(naive_threads) naive_keys(Backward<T> a) {
	__shared__ float weight[naive_step], gradient[naive_step];
	__shared__ bool sees[naive_step][branches];
	const Shape &s = a.s;
	const int h_kv = static_cast<int>(blockIdx.x % s.heads_kv), j = static_cast<int>(blockIdx.x / s.heads_kv % s.tokens);
	const int64_t b = blockIdx.x / s.heads_kv / s.tokens;
	const int t = static_cast<int>(threadIdx.x), rows = (s.tokens - j) * s.group;
	float sum_k[naive_columns] = {}, sum_v[naive_columns] = {};
	for (int first = 0; first < rows; first += naive_step) {
		const int here = min(naive_step, rows - first), query = j + (first + t) / s.group;
		__syncthreads(); // the weights before have been read
		if (t < here) sees[t][0] = a.chose(b, query, h_kv, j / s.size), sees[t][1] = query - j < s.window;
		__syncthreads();
		for (int x = t / warp_size; x < here; x += naive_warps) {
			const Row r = {b, j + (first + x) / s.group, h_kv * s.group + (first + x) % s.group, h_kv};
			float p = 0, ds = 0;
			for (int branch = 0; branch < branches; branch++) {
				float more = 0;
				if (sees[x][branch]) ds += gradient_of(a, r, j, branch, a.kept(r, branch), more);
				p += more;
			}
			if (t % warp_size == 0) weight[x] = p, gradient[x] = ds;
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < naive_columns; k++) {
			const int c = t + k * naive_threads;
#pragma unroll 1
			for (int x = 0; x < here; x++) {
				if (!sees[x][0] && !sees[x][1]) continue;
				const int i = j + (first + x) / s.group, h = h_kv * s.group + (first + x) % s.group;
				if (c < s.dim) sum_k[k] += gradient[x] * to_float(a.q.row(b, i, h)[c * a.q.column]);
				if (c < s.dim_v) sum_v[k] += weight[x] * to_float(a.grad_o.row(b, i, h)[c * a.grad_o.column]);
			}
		}
	}
#pragma unroll
	for (int k = 0; k < naive_columns; k++) {
		const int64_t c = t + k * naive_threads, row = blockIdx.x;
		if (c < s.dim && a.grad_k != nullptr) a.grad_k[row * s.dim + c] = from_float<T>(sum_k[k]);
		if (c < s.dim_v && a.grad_v != nullptr) a.grad_v[row * s.dim_v + c] = from_float<T>(sum_v[k]);
	}
}

template <class T> int forward_naive(const triad_call *call) {
	const Forward<T> a(call);
	if (a.s.rows() > 0) naive_forward<T><<<static_cast<unsigned>(a.s.rows()), naive_threads, 0, stream_of(call)>>>(a);
	return launched();
}

template <class T> int backward_naive(const triad_call *call) {
	const Backward<T> a(call);
	if (a.s.rows() == 0) return TRIAD_OK;
	naive_queries<T><<<static_cast<unsigned>(a.s.rows()), naive_threads, 0, stream_of(call)>>>(a);
	if (const int status = launched()) return status;
	naive_keys<T><<<static_cast<unsigned>(a.s.keys()), naive_threads, 0, stream_of(call)>>>(a);
	return launched();
}

} // namespace sparse
} // namespace triad
#endif
