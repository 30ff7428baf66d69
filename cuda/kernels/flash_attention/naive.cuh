// naive.cuh: attention with one thread an element, forward and backward; P (backward: and dS) lies in the workspace.
#ifndef TRIAD_FLASH_ATTENTION_NAIVE_CUH
#define TRIAD_FLASH_ATTENTION_NAIVE_CUH
#include "per_element.cuh"
#include "register.cuh"
#include "rows.cuh"
#include "weight.cuh"

namespace triad {
namespace attention {

// One thread per score; those of keys that the query does not see are neither written nor read.
template <class T> __global__ void naive_scores(ForwardCall<T> a, float *scores) {
	const AttentionShape s = a.shape;
	const int64_t i = thread_number();
	if (i >= s.query_rows() * s.seq_kv) return;
	const Place p = place_of(i, s.heads_q, s.seq_q, s.seq_kv);
	if (p.col >= s.visible_keys(p.row)) return;
	scores[i] = dot(a.q.of(p.batch, p.head), p.row, a.k.of(p.batch, p.head / s.group()), p.col, s.head_dim) * s.scale;
}

// One thread per query: turns its scores into P and writes lse.
template <class T> __global__ void naive_softmax(ForwardCall<T> a, float *scores) {
	const int64_t i = thread_number();
	if (i >= a.shape.query_rows()) return;
	const int keys = a.shape.visible_keys(static_cast<int>(i % a.shape.seq_q));
	float *row = scores + i * a.shape.seq_kv, max = -INFINITY;
	for (int j = 0; j < keys; j++) max = fmaxf(max, row[j]);
	const float base = triad::finite_max(max);
	LongSum sum;
	for (int j = 0; j < keys; j++) sum.add(row[j] = expf(row[j] - base));
	const float total = sum.total();
	for (int j = 0; j < keys; j++) row[j] /= total;
	if (a.lse) a.lse[i] = triad::log_sum_exp(max, total, keys > 0);
}

// One thread per element of o.
template <class T> __global__ void naive_output(ForwardCall<T> a, const float *weights) {
	const AttentionShape s = a.shape;
	const int64_t i = thread_number();
	if (i >= s.query_rows() * s.head_dim_v) return;
	const Place p = place_of(i, s.heads_q, s.seq_q, s.head_dim_v);
	const HeadRows<T> v = a.v.of(p.batch, p.head / s.group());
	const float *row = weights + i / s.head_dim_v * s.seq_kv;
	LongSum sum;
	for (int j = 0; j < s.visible_keys(p.row); j++) sum.add(row[j] * v.at(j, p.col));
	a.o[i] = triad::from_float<T>(sum.total());
}

// One thread per element of P and dS, which go to the workspace; those of keys that the query does not see are neither written nor read.
template <class T> __global__ void naive_weights(BackwardCall<T> a, Weight *weights) {
	const AttentionShape s = a.shape;
	const int64_t i = thread_number();
	if (i >= s.query_rows() * s.seq_kv) return;
	const Place p = place_of(i, s.heads_q, s.seq_q, s.seq_kv);
	if (p.col >= s.visible_keys(p.row)) return;
	const int kv_head = p.head / s.group();
	const int64_t row = i / s.seq_kv;
	const float score = dot(a.q.of(p.batch, p.head), p.row, a.k.of(p.batch, kv_head), p.col, s.head_dim) * s.scale;
	const float dp = dot(a.grad_o.of(p.batch, p.head), p.row, a.v.of(p.batch, kv_head), p.col, s.head_dim_v);
	weights[i] = triad::weight_of(score, a.lse[row], dp, a.delta[row]);
}

// One thread per element of grad_q.
template <class T> __global__ void naive_grad_q(BackwardCall<T> a, const Weight *weights) {
	const AttentionShape s = a.shape;
	const int64_t i = thread_number();
	if (i >= s.query_rows() * s.head_dim) return;
	const Place p = place_of(i, s.heads_q, s.seq_q, s.head_dim);
	const HeadRows<T> k = a.k.of(p.batch, p.head / s.group());
	const Weight *row = weights + i / s.head_dim * s.seq_kv;
	LongSum sum;
	for (int j = 0; j < s.visible_keys(p.row); j++) sum.add(row[j].ds * k.at(j, p.col));
	a.grad_q[i] = triad::from_float<T>(sum.total() * s.scale);
}

// One thread per element of grad_k and grad_v, of each the columns that it has.
template <class T> __global__ void naive_grad_kv(BackwardCall<T> a, const Weight *weights) {
	const AttentionShape s = a.shape;
	const int64_t i = thread_number();
	const int columns = s.widest();
	if (i >= s.batch * s.heads_kv * s.seq_kv * columns) return;
	const Place p = place_of(i, s.heads_kv, s.seq_kv, columns);
	const bool of_k = p.col < s.head_dim, of_v = p.col < s.head_dim_v;
	LongSum dk, dv;
	for (int head = p.head * s.group(); head < (p.head + 1) * s.group(); head++) {
		const HeadRows<T> q = a.q.of(p.batch, head), grad_o = a.grad_o.of(p.batch, head);
		const int64_t rows_before = (p.batch * s.heads_q + head) * s.seq_q;
		for (int row = s.first_query(p.row); row < s.seq_q; row++) {
			const Weight w = weights[(rows_before + row) * s.seq_kv + p.row];
			if (of_k) dk.add(w.ds * q.at(row, p.col));
			if (of_v) dv.add(w.p * grad_o.at(row, p.col));
		}
	}
	if (a.grad_k && of_k) a.grad_k[i / columns * s.head_dim + p.col] = triad::from_float<T>(dk.total() * s.scale);
	if (a.grad_v && of_v) a.grad_v[i / columns * s.head_dim_v + p.col] = triad::from_float<T>(dv.total());
}

// ---- launchers

inline int64_t workspace_scores(const triad_call *call) {
	const AttentionShape s = shape_of(call);
	return floats_bytes(s.query_rows() * s.seq_kv);
}

inline int64_t workspace_weights(const triad_call *call) {
	const AttentionShape s = shape_of(call);
	return floats_bytes(delta_floats(s) + 2 * s.query_rows() * s.seq_kv);
}

template <class T> int forward_naive(const triad_call *call) {
	const ForwardCall<T> a = forward_call<T>(call);
	const cudaStream_t stream = triad::stream_of(call);
	const int64_t rows = a.shape.query_rows(), scores = rows * a.shape.seq_kv;
	float *weights = static_cast<float *>(call->workspace);
	if (rows == 0) return TRIAD_OK;
	if (scores > 0) naive_scores<T><<<flat_blocks(scores), flat_threads, 0, stream>>>(a, weights);
	naive_softmax<T><<<flat_blocks(rows), flat_threads, 0, stream>>>(a, weights);
	naive_output<T><<<flat_blocks(rows * a.shape.head_dim_v), flat_threads, 0, stream>>>(a, weights);
	return triad::launched();
}

template <class T> int backward_naive(const triad_call *call) {
	const BackwardCall<T> a = backward_call<T>(call);
	const AttentionShape &s = a.shape;
	const cudaStream_t stream = triad::stream_of(call);
	const int64_t rows = s.query_rows(), scores = rows * s.seq_kv, kv = s.batch * s.heads_kv * s.seq_kv * s.widest();
	Weight *weights = reinterpret_cast<Weight *>(a.delta + delta_floats(s));
	if (rows > 0) backward_delta<T><<<flat_blocks(rows), flat_threads, 0, stream>>>(a);
	if (scores > 0) naive_weights<T><<<flat_blocks(scores), flat_threads, 0, stream>>>(a, weights);
	if (rows > 0 && a.grad_q) naive_grad_q<T><<<flat_blocks(query_elements(s)), flat_threads, 0, stream>>>(a, weights);
	if (kv > 0) naive_grad_kv<T><<<flat_blocks(kv), flat_threads, 0, stream>>>(a, weights);
	return triad::launched();
}

} // namespace attention
} // namespace triad
#endif
