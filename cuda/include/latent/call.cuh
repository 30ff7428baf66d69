// call.cuh: a call of attention over latent rows of a paged cache as kernels see it: its shape, which tokens a query sees, how its tensors are read.
#ifndef TRIAD_LATENT_CALL_CUH
#define TRIAD_LATENT_CALL_CUH
#include <cmath>

#include "element.cuh"
#include "latent/softmax.cuh"
#include "rows.cuh"

namespace triad {
namespace latent {

constexpr int page = 64, warp = 32;

// Decode is a call as kernels see it.
template <class T> struct Decode {
	const T *q, *cache;
	int64_t q_stride[4], cache_stride[3];
	Matrix<const int32_t> table;
	Vector<const int32_t> lengths;
	T *o;
	float *lse; // null: not wanted
	int64_t batch;
	int seq_q, heads, dim, dim_v, pages; // pages of the longest sequence
	bool causal;
	float scale, empty;

	explicit Decode(const triad_call *call)
	    : q(static_cast<const T *>(call->in[0].data)), cache(static_cast<const T *>(call->in[1].data)), table(call->in[2]), lengths(call->in[3]),
	      o(static_cast<T *>(call->out[0].data)), lse(static_cast<float *>(call->out[1].data)), batch(call->in[0].shape[0]),
	      seq_q(static_cast<int>(call->in[0].shape[1])), heads(static_cast<int>(call->in[0].shape[2])), dim(static_cast<int>(call->in[0].shape[3])),
	      dim_v(static_cast<int>(call->out[0].shape[3])), pages(static_cast<int>(call->in[2].shape[1])), causal(call->attr[0] != 0),
	      scale(static_cast<float>(call->attr[1])), empty(call->attr[2] != 0 ? -INFINITY : INFINITY) {
		for (int d = 0; d < 4; d++) q_stride[d] = call->in[0].stride[d];
		for (int d = 0; d < 3; d++) cache_stride[d] = call->in[1].stride[d];
	}

	int64_t queries() const { return batch * seq_q; }
	__device__ int visible(int64_t b, int i) const {
		const int length = lengths(b);
		return causal ? max(0, min(length, i + 1 + length - seq_q)) : length;
	}
	__device__ const T *query(int64_t b, int i, int h) const { return q + b * q_stride[0] + i * q_stride[1] + h * q_stride[2]; }
	__device__ const T *rows_at(int block) const { return cache + block * cache_stride[0]; }
	__device__ const T *rows_of(int64_t b, int number) const { return rows_at(table(b, number)); } // of a page
	__device__ int64_t statistic(int64_t b, int i, int h) const { return (b * heads + h) * seq_q + i; }
};

} // namespace latent
} // namespace triad
#endif
