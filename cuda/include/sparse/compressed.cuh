// compressed.cuh: attention over blocks that one key and one value stand for: a call as kernels see it, and a block of threads for each result row.
// Pipeline, forward: 64 blocks in a step: a warp a score -> weights in shared memory -> a thread for two columns adds values up. Backward: a block of
// threads a query and head keeps delta and adds up grad_q; then one a key goes through the queries from the end of its block on.
#ifndef TRIAD_SPARSE_COMPRESSED_CUH
#define TRIAD_SPARSE_COMPRESSED_CUH
#include "sparse/selected_naive.cuh"

namespace triad {
namespace sparse {
namespace compressed {

// Shape adds the number of keys, and lse of a query that sees none.
struct Shape : Sizes {
	int blocks;
	float empty;

	explicit Shape(const triad_call *call)
	    : Sizes(call, call->attr[0], call->attr[1], call->in[2].shape[3]), blocks(static_cast<int>(call->in[1].shape[1])),
	      empty(call->attr[2] != 0 ? 0.0f : -INFINITY) {}

	__host__ __device__ int64_t keys() const { return batch * blocks * heads_kv; }
	__host__ __device__ int whole() const { return tokens / size; } // the last block is never seen where it is not whole
	__device__ int visible(int t) const { return (t + 1) / size; }
	// first_query: the first that sees a key.
	__host__ __device__ int first_query(int key) const { return key < whole() ? (key + 1) * size - 1 : tokens; }
	// Keys that a query sees are one run, in one softmax.
	__device__ int first_run(int) const { return 0; }
	__device__ int last_run(int) const { return 1; }
};

// Call is what both passes take.
template <class T> struct Call {
	Shape s;
	View<T> q, k, v;

	explicit Call(const triad_call *call) : s(call), q(call->in[0]), k(call->in[1]), v(call->in[2]) {}

	__device__ Row row(int64_t number) const {
		const int h = static_cast<int>(number % s.heads);
		return {number / s.heads / s.tokens, static_cast<int>(number / s.heads % s.tokens), h, h / s.group};
	}
	__device__ int64_t number(const Row &r) const { return (r.b * s.tokens + r.t) * s.heads + r.h; }
	__device__ Run run(const Row &r, int) const { return {0, s.visible(r.t)}; }
};

template <class T> struct Forward : Call<T> {
	T *o;       // [batch, tokens, heads, dim_v]
	float *lse; // [batch, tokens, heads]; null: not wanted

	explicit Forward(const triad_call *call) : Call<T>(call), o(static_cast<T *>(call->out[0].data)), lse(static_cast<float *>(call->out[1].data)) {}
};

template <class T> struct Backward : Call<T> {
	View<T> o, grad_o;
	View<float> lse;
	T *grad_q, *grad_k, *grad_v; // null: not wanted
	float *delta;                // of each row: sum of grad_o * o

	explicit Backward(const triad_call *call)
	    : Call<T>(call), o(call->in[3]), grad_o(call->in[5]), lse(call->in[4]), grad_q(static_cast<T *>(call->out[0].data)),
	      grad_k(static_cast<T *>(call->out[1].data)), grad_v(static_cast<T *>(call->out[2].data)), delta(static_cast<float *>(call->workspace)) {}

	// kept is what a row has for its gradients; its delta must have been stored.
	__device__ Saved kept(const Row &r) const { return {*lse.row(r.b, r.t, r.h), delta[this->number(r)]}; }
};

inline int64_t delta_bytes(const triad_call *call) { return Shape(call).rows() * static_cast<int64_t>(sizeof(float)); }

template <class T> __global__ void __launch_bounds__(naive_threads) naive_forward(Forward<T> a) {
	__shared__ float weight[naive_step];
	const Mean m = attend(a, a.row(blockIdx.x), 0, weight);
#pragma unroll
	for (int k = 0; k < naive_columns; k++) {
		const int c = static_cast<int>(threadIdx.x) + k * naive_threads;
		if (c < a.s.dim_v) a.o[static_cast<int64_t>(blockIdx.x) * a.s.dim_v + c] = from_float<T>(m.seen ? m.o[k] : 0.0f);
	}
	if (threadIdx.x == 0 && a.lse != nullptr) a.lse[blockIdx.x] = m.seen ? latent::log_of(m.max, m.total) : a.s.empty;
}

// gradient_of is scale * dS of a query and a key that it sees, by a warp; weight its P.
template <class T> __device__ float gradient_of(const Backward<T> &a, const Row &r, int key, Saved saved, float &weight) {
	const float dp = dot(a.grad_o.row(r.b, r.t, r.h), a.grad_o.column, a.v.row(r.b, key, r.h_kv), a.v.column, a.s.dim_v);
	weight = expf(score(a, r, key) - saved.lse);
	return weight * (dp - saved.delta) * a.s.scale;
}

// A block of threads for each row of grad_q.
template <class T> __global__ void __launch_bounds__(naive_threads) naive_queries(Backward<T> a) {
	__shared__ float gradient[naive_step], scratch[naive_warps];
	const Row r = a.row(blockIdx.x);
	const int t = static_cast<int>(threadIdx.x), end = a.s.visible(r.t);
	float delta = 0, sum[naive_columns] = {};
	for (int c = t; c < a.s.dim_v; c += naive_threads)
		delta += to_float(a.o.row(r.b, r.t, r.h)[c * a.o.column]) * to_float(a.grad_o.row(r.b, r.t, r.h)[c * a.grad_o.column]);
	const Saved saved = {*a.lse.row(r.b, r.t, r.h), block_reduce<naive_threads>(delta, Sum(), scratch)};
	if (t == 0) a.delta[blockIdx.x] = saved.delta;
	for (int first = 0; first < end; first += naive_step) {
		const int here = min(naive_step, end - first);
		__syncthreads(); // the gradients before have been read
		for (int j = t / warp_size; j < here; j += naive_warps) {
			float p;
			const float ds = gradient_of(a, r, first + j, saved, p);
			if (t % warp_size == 0) gradient[j] = ds;
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < naive_columns; k++) {
			const int c = t + k * naive_threads;
			if (c >= a.s.dim) break;
#pragma unroll 1
			for (int j = 0; j < here; j++) sum[k] += gradient[j] * to_float(a.k.row(r.b, first + j, r.h_kv)[c * a.k.column]);
		}
	}
#pragma unroll
	for (int k = 0; k < naive_columns; k++) {
		const int c = t + k * naive_threads;
		if (c < a.s.dim && a.grad_q != nullptr) a.grad_q[static_cast<int64_t>(blockIdx.x) * a.s.dim + c] = from_float<T>(sum[k]);
	}
}

// A block of threads for each row of grad_k and grad_v, over the heads of the queries from the end of its block on.
template <class T> __global__ void __launch_bounds__(naive_threads) naive_keys(Backward<T> a) {
	__shared__ float weight[naive_step], gradient[naive_step];
	const Shape &s = a.s;
	const int h_kv = static_cast<int>(blockIdx.x % s.heads_kv), key = static_cast<int>(blockIdx.x / s.heads_kv % s.blocks);
	const int64_t b = blockIdx.x / s.heads_kv / s.blocks;
	const int t = static_cast<int>(threadIdx.x), begin = s.first_query(key), rows = (s.tokens - begin) * s.group;
	const auto row = [&](int i) { return Row{b, begin + i / s.group, h_kv * s.group + i % s.group, h_kv}; };
	float sum_k[naive_columns] = {}, sum_v[naive_columns] = {};
	for (int first = 0; first < rows; first += naive_step) {
		const int here = min(naive_step, rows - first);
		__syncthreads(); // the weights before have been read
		for (int x = t / warp_size; x < here; x += naive_warps) {
			const Row r = row(first + x);
			float p;
			const float ds = gradient_of(a, r, key, a.kept(r), p);
			if (t % warp_size == 0) weight[x] = p, gradient[x] = ds;
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < naive_columns; k++) {
			const int c = t + k * naive_threads;
#pragma unroll 1
			for (int x = 0; x < here; x++) {
				const Row r = row(first + x);
				if (c < s.dim) sum_k[k] += gradient[x] * to_float(a.q.row(b, r.t, r.h)[c * a.q.column]);
				if (c < s.dim_v) sum_v[k] += weight[x] * to_float(a.grad_o.row(b, r.t, r.h)[c * a.grad_o.column]);
			}
		}
	}
#pragma unroll
	for (int k = 0; k < naive_columns; k++) {
		const int64_t c = t + k * naive_threads, to = blockIdx.x;
		if (c < s.dim && a.grad_k != nullptr) a.grad_k[to * s.dim + c] = from_float<T>(sum_k[k]);
		if (c < s.dim_v && a.grad_v != nullptr) a.grad_v[to * s.dim_v + c] = from_float<T>(sum_v[k]);
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

} // namespace compressed
} // namespace sparse
} // namespace triad
#endif
