// call.cuh: a call of attention as kernels see it: its shape, which keys a query sees, how its tensors are read. Dimensions in the order batch B,
// heads H (Hkv for keys and values), rows S, head_dim D (Dv of values and outputs).
#ifndef TRIAD_FLASH_ATTENTION_CALL_CUH
#define TRIAD_FLASH_ATTENTION_CALL_CUH
#include <cuda_runtime.h>

#include "abi.h"
#include "element.cuh"

namespace triad {

// AttentionShape holds the sizes and the two attributes. heads_q is a multiple of heads_kv; neighbouring query heads share a kv head.
struct AttentionShape {
	int64_t batch;
	int heads_q, heads_kv, seq_q, seq_kv, head_dim, head_dim_v;
	bool causal;
	float scale;

	__host__ __device__ int group() const { return heads_q / heads_kv; }
	__host__ __device__ int widest() const { return head_dim > head_dim_v ? head_dim : head_dim_v; }
	__host__ __device__ int64_t query_rows() const { return batch * heads_q * seq_q; }

	// visible_keys: query i sees the keys j < visible_keys(i). Causal is aligned bottom-right: the last query sees every key.
	__device__ int visible_keys(int query) const { return causal ? max(0, min(seq_kv, query + 1 + seq_kv - seq_q)) : seq_kv; }

	// first_query: the first query that may see key j.
	__device__ int first_query(int key) const { return causal ? max(0, key - (seq_kv - seq_q)) : 0; }
};

// HeadRows is one head of one batch entry: [rows, columns].
template <class T> struct HeadRows {
	const T *data;
	int64_t row_stride, col_stride;
	bool packed; // four neighbours of a row from a multiple of four on are one aligned access

	__device__ float at(int row, int col) const { return to_float(data[row * row_stride + col * col_stride]); }
};

// Heads is an input [batch, heads, rows, columns] with any strides.
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
	T *o;       // [B, H, Sq, Dv]
	float *lse; // [B, H, Sq]
};

template <class T> struct BackwardCall {
	AttentionShape shape;
	Heads<T> q, k, v, o, grad_o;
	const float *lse;               // [B, H, Sq]
	T *grad_q, *grad_k, *grad_v;    // as q, k, v
	float *delta;                   // [B, H, Sq]: sum over d of grad_o * o
};

// Inputs begin with q, k, v in both passes; attributes are causal, scale.
inline AttentionShape shape_of(const triad_call *call) {
	const triad_tensor &q = call->in[0], &k = call->in[1];
	AttentionShape s;
	s.batch = q.shape[0];
	s.heads_q = static_cast<int>(q.shape[1]);
	s.heads_kv = static_cast<int>(k.shape[1]);
	s.seq_q = static_cast<int>(q.shape[2]);
	s.seq_kv = static_cast<int>(k.shape[2]);
	s.head_dim = static_cast<int>(q.shape[3]);
	s.head_dim_v = static_cast<int>(call->in[2].shape[3]);
	s.causal = call->attr[0] != 0;
	s.scale = static_cast<float>(call->attr[1]);
	return s;
}

template <class T> ForwardCall<T> forward_call(const triad_call *call) {
	return {shape_of(call), Heads<T>(call->in[0]), Heads<T>(call->in[1]), Heads<T>(call->in[2]), static_cast<T *>(call->out[0].data),
	        call->n_out > 1 ? static_cast<float *>(call->out[1].data) : nullptr};
}

template <class T> BackwardCall<T> backward_call(const triad_call *call) {
	return {shape_of(call),
	        Heads<T>(call->in[0]), Heads<T>(call->in[1]), Heads<T>(call->in[2]), Heads<T>(call->in[3]), Heads<T>(call->in[5]),
	        static_cast<const float *>(call->in[4].data),
	        static_cast<T *>(call->out[0].data), static_cast<T *>(call->out[1].data), static_cast<T *>(call->out[2].data),
	        static_cast<float *>(call->workspace)};
}

inline int64_t floats_bytes(int64_t n) { return n * static_cast<int64_t>(sizeof(float)); }

inline int64_t query_elements(const AttentionShape &s) { return s.query_rows() * s.head_dim; }

// widest_of: the larger of head_dim and head_dim_v of a call.
inline int64_t widest_of(const triad_call *call) {
	const int64_t d = call->in[0].shape[3], dv = call->in[2].shape[3];
	return d > dv ? d : dv;
}

// The workspace of a backward begins with delta, padded so that what follows is aligned to 256 bytes.
inline int64_t delta_floats(const AttentionShape &s) { return (s.query_rows() + 63) / 64 * 64; }

} // namespace triad
#endif
