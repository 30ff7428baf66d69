// attention.cuh: what every variant of attention agrees on: the shape of a call, how its tensors are read, which keys a query sees, and
// the arithmetic of one weight. Dimensions in the order batch B, heads H (Hkv for keys and values), rows S, head_dim D.
#ifndef TRIAD_ATTENTION_CUH
#define TRIAD_ATTENTION_CUH
#include <cuda_runtime.h>

#include <cmath>

#include "abi.h"
#include "element.cuh"

namespace triad {

// AttentionShape holds the sizes and the two attributes. heads_q is a multiple of heads_kv; neighbouring query heads share a kv head.
struct AttentionShape {
	int64_t batch;
	int heads_q, heads_kv, seq_q, seq_kv, head_dim;
	bool causal;
	float scale;

	__host__ __device__ int group() const { return heads_q / heads_kv; }
	__host__ __device__ int64_t query_rows() const { return batch * heads_q * seq_q; }

	// visible_keys: query i sees the keys j < visible_keys(i). Causal is aligned bottom-right: the last query sees every key.
	__device__ int visible_keys(int query) const { return causal ? max(0, min(seq_kv, query + 1 + seq_kv - seq_q)) : seq_kv; }

	// first_query: the first query that may see key j.
	__device__ int first_query(int key) const { return causal ? max(0, key - (seq_kv - seq_q)) : 0; }
};

// HeadRows is one head of one batch entry: [rows, head_dim].
template <class T> struct HeadRows {
	const T *data;
	int64_t row_stride, col_stride;
	bool packed; // four neighbours of a row from a multiple of four on are one aligned access

	__device__ float at(int row, int col) const { return to_float(data[row * row_stride + col * col_stride]); }
};

// Heads is an input [batch, heads, rows, head_dim] with any strides.
template <class T> struct Heads {
	const T *data;
	int64_t batch_stride, head_stride, row_stride, col_stride;
	bool packed;

	explicit Heads(const triad_tensor &t)
	    : data(static_cast<const T *>(t.data)), batch_stride(t.stride[0]), head_stride(t.stride[1]), row_stride(t.stride[2]),
	      col_stride(t.stride[3]) {
		packed = col_stride == 1 && reinterpret_cast<uintptr_t>(data) % (4 * sizeof(T)) == 0;
		for (int d = 0; d < 3; d++) packed = packed && (t.shape[d] <= 1 || t.stride[d] % 4 == 0);
	}
	__device__ HeadRows<T> of(int64_t b, int head) const {
		return {data + b * batch_stride + head * head_stride, row_stride, col_stride, packed};
	}
};

// ForwardCall and BackwardCall are a call as kernels see it. Outputs, lse and sums are contiguous; an output that is null is not wanted.
template <class T> struct ForwardCall {
	AttentionShape shape;
	Heads<T> q, k, v;
	T *o;       // [B, H, Sq, D]
	float *lse; // [B, H, Sq]
};

template <class T> struct BackwardCall {
	AttentionShape shape;
	Heads<T> q, k, v, o, grad_o;
	const float *lse;               // [B, H, Sq]
	T *grad_q, *grad_k, *grad_v;    // as q, k, v
	float *delta;                   // [B, H, Sq]: sum over d of grad_o * o
};

// finite_max: what is subtracted from scores before the exponential. Subtracting an infinite maximum would give NaN where -inf scores
// must weigh nothing; with 0 instead, exp gives 0 for them, and infinity, then NaN by the division, where the maximum is +inf.
__device__ inline float finite_max(float max) { return fabsf(max) <= 3.4028235e38f ? max : 0.0f; }

// log_sum_exp is lse of a query, from its largest score and the sum of exp(score - finite_max). Where a score is infinite there are no
// weights (infinity minus infinity), so o is NaN and lse with it; a query that sees no key has lse = -inf.
__device__ inline float log_sum_exp(float max, float total, bool sees_a_key) {
	if (sees_a_key && fabsf(max) > 3.4028235e38f) return NAN;
	return finite_max(max) + logf(total);
}

// Weight is one element of P = exp(s - lse) and of dS = P * (dP - delta), the gradient of the scaled score.
struct Weight {
	float p, ds;
};

// A query that no key contributed to (lse = -inf) has no weights, whatever its scores.
__device__ inline Weight weight_of(float score, float lse, float dp, float delta) {
	if (lse == -INFINITY) return {0, 0};
	const float p = expf(score - lse);
	return {p, p * (dp - delta)};
}

} // namespace triad
#endif
