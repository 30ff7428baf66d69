// whole.cuh: a call of attention over latent rows that are all there, as kernels see it: its sizes, which keys a row sees, how its tensors are read. A
// row is a head of a query: row i * heads + h of a batch entry.
#ifndef TRIAD_LATENT_WHOLE_CUH
#define TRIAD_LATENT_WHOLE_CUH
#include <cmath>

#include "element.cuh"
#include "latent/softmax.cuh"
#include "rows.cuh"

namespace triad {
namespace mla {

// Shape holds the sizes and the attributes.
struct Shape {
	int64_t batch;
	int queries, heads, keys, dim, dim_v;
	bool causal;
	float scale;

	explicit Shape(const triad_call *call)
	    : batch(call->in[0].shape[0]), queries(static_cast<int>(call->in[0].shape[1])), heads(static_cast<int>(call->in[0].shape[2])),
	      keys(static_cast<int>(call->in[1].shape[1])), dim(static_cast<int>(call->in[0].shape[3])), dim_v(static_cast<int>(call->attr[2])),
	      causal(call->attr[0] != 0), scale(static_cast<float>(call->attr[1])) {}

	__host__ __device__ int rows() const { return queries * heads; } // of a batch entry
	__host__ __device__ int64_t all_rows() const { return batch * queries * heads; }
	// visible: a row sees the keys below it. Causal is aligned to the end: the last query sees every key.
	__host__ __device__ int visible(int row) const {
		if (!causal) return keys;
		const int last = row / heads + 1 + keys - queries;
		return last < 0 ? 0 : last < keys ? last : keys;
	}
	// first_row: the first row that may see a key.
	__host__ __device__ int first_row(int key) const {
		const int query = key - (keys - queries);
		return causal && query > 0 ? query * heads : 0;
	}
	__host__ __device__ int64_t statistic(int64_t b, int row) const { return (b * heads + row % heads) * queries + row / heads; } // in lse
};

// View is q, o or grad_o [batch, queries, heads, columns] with any strides, or kv [batch, keys, columns], whose rows are keys.
template <class T> struct View {
	const T *data;
	int64_t batch, query, head, column;
	int heads;

	View(const triad_tensor &t, int heads) : data(static_cast<const T *>(t.data)), batch(t.stride[0]), query(t.stride[1]), heads(heads) {
		head = t.rank == 4 ? t.stride[2] : 0;
		column = t.stride[t.rank - 1];
	}
	__device__ const T *row(int64_t b, int r) const { return data + b * batch + r / heads * query + r % heads * head; }
	__device__ float at(int64_t b, int r, int c) const { return to_float(row(b, r)[c * column]); }
};

// Forward and Backward are a call as kernels see it. Outputs and lse are contiguous; an output that is null is not wanted.
template <class T> struct Forward {
	Shape s;
	View<T> q, kv;
	T *o;       // [batch, queries, heads, dim_v]
	float *lse; // [batch, heads, queries]

	explicit Forward(const triad_call *call)
	    : s(call), q(call->in[0], s.heads), kv(call->in[1], 1), o(static_cast<T *>(call->out[0].data)), lse(static_cast<float *>(call->out[1].data)) {}
};

template <class T> struct Backward {
	Shape s;
	View<T> q, kv, o, grad_o;
	const float *lse;
	T *grad_q, *grad_kv; // as q, kv
	float *delta;        // of each row: sum of grad_o * o

	explicit Backward(const triad_call *call)
	    : s(call), q(call->in[0], s.heads), kv(call->in[1], 1), o(call->in[2], s.heads), grad_o(call->in[4], s.heads),
	      lse(static_cast<const float *>(call->in[3].data)), grad_q(static_cast<T *>(call->out[0].data)),
	      grad_kv(static_cast<T *>(call->out[1].data)), delta(static_cast<float *>(call->workspace)) {}
};

using latent::base;
using latent::log_of;

// weight_of is P of a score: where a row sees no key, lse is -inf and P is 0.
__device__ inline float weight_of(float score, float lse) { return lse == -INFINITY ? 0.0f : expf(score - lse); }

} // namespace mla
} // namespace triad
#endif
