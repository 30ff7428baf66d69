// selected.cuh: a call of attention over selected blocks and a window, as kernels see it: its sizes, which keys a query sees, how its tensors are read.
// sparse/compressed.cuh shares the sizes and the tensors.
#ifndef TRIAD_SPARSE_SELECTED_CUH
#define TRIAD_SPARSE_SELECTED_CUH
#include <cmath>

#include "element.cuh"
#include "latent/softmax.cuh"
#include "rows.cuh"

namespace triad {
namespace sparse {

constexpr int branches = 2; // softmaxes: over the selected blocks, and over the window

// Sizes hold what the kinds of sparse attention share: q is the first input, k the second.
struct Sizes {
	int64_t batch;
	int tokens, heads, heads_kv, group, dim, dim_v, size; // size: of a block
	float scale;

	Sizes(const triad_call *call, double size, double scale, int64_t dim_v)
	    : batch(call->in[0].shape[0]), tokens(static_cast<int>(call->in[0].shape[1])), heads(static_cast<int>(call->in[0].shape[2])),
	      heads_kv(static_cast<int>(call->in[1].shape[2])), group(heads / heads_kv), dim(static_cast<int>(call->in[0].shape[3])),
	      dim_v(static_cast<int>(dim_v)), size(static_cast<int>(size <= tokens ? size : tokens + 1.0)), scale(static_cast<float>(scale)) {}

	__host__ __device__ int64_t rows() const { return batch * tokens * heads; }
};

// Shape adds the choice of blocks and the window.
struct Shape : Sizes {
	int blocks, window;

	explicit Shape(const triad_call *call)
	    : Sizes(call, call->attr[0], call->attr[2], call->in[2].shape[3]), blocks(static_cast<int>(call->in[3].shape[3])),
	      window(static_cast<int>(call->attr[1] < tokens ? call->attr[1] : tokens)) {}

	__host__ __device__ int64_t keys() const { return batch * tokens * heads_kv; }
	// Runs of keys: one a selected block, then the window.
	__device__ int first_run(int branch) const { return branch == 0 ? 0 : blocks; }
	__device__ int last_run(int branch) const { return branch == 0 ? blocks : blocks + 1; }
};

// View is a tensor [batch, tokens, heads, columns], or one without columns, with any strides.
template <class T> struct View {
	const T *data;
	int64_t batch, token, head, column;

	explicit View(const triad_tensor &t)
	    : data(static_cast<const T *>(t.data)), batch(t.stride[0]), token(t.stride[1]), head(t.stride[2]), column(t.rank == 4 ? t.stride[3] : 0) {}
	// One without gaps.
	__device__ View(const T *data, const Sizes &s, int columns)
	    : data(data), batch(static_cast<int64_t>(s.tokens) * s.heads * columns), token(static_cast<int64_t>(s.heads) * columns), head(columns), column(1) {}
	__device__ const T *row(int64_t b, int t, int h) const { return data + b * batch + t * token + h * head; }
};

// Row is a head of a query.
struct Row {
	int64_t b;
	int t, h, h_kv;
};

// Run are neighbouring keys.
struct Run {
	int first, end;
};

// Call is what both passes take.
template <class T> struct Call {
	Shape s;
	View<T> q, k, v;
	View<int32_t> indices;
	View<T> slc, swa; // the gates

	explicit Call(const triad_call *call)
	    : s(call), q(call->in[0]), k(call->in[1]), v(call->in[2]), indices(call->in[3]), slc(call->in[4]), swa(call->in[5]) {}

	__device__ Row row(int64_t number) const {
		const int h = static_cast<int>(number % s.heads);
		return {number / s.heads / s.tokens, static_cast<int>(number / s.heads % s.tokens), h, h / s.group};
	}
	__device__ int64_t number(const Row &r) const { return (r.b * s.tokens + r.t) * s.heads + r.h; }
	__device__ float gate(const Row &r, int branch) const { return to_float(*(branch == 0 ? slc : swa).row(r.b, r.t, r.h)); }
	// run gives the keys of a run that a query sees.
	__device__ Run run(const Row &r, int i) const {
		if (i == s.blocks) return {max(0, r.t + 1 - s.window), s.window > 0 ? r.t + 1 : 0};
		const int block = indices.row(r.b, r.t, r.h_kv)[i * indices.column];
		return block < 0 ? Run{0, 0} : Run{block * s.size, min((block + 1) * s.size, r.t + 1)};
	}
	// chose tells whether a block is one of a query's.
	__device__ bool chose(int64_t b, int t, int h_kv, int block) const {
		const int32_t *const mine = indices.row(b, t, h_kv);
		for (int i = 0; i < s.blocks; i++)
			if (mine[i * indices.column] == block) return true;
		return false;
	}
};

template <class T> struct Forward : Call<T> {
	T *o; // [batch, tokens, heads, dim_v]

	explicit Forward(const triad_call *call) : Call<T>(call), o(static_cast<T *>(call->out[0].data)) {}
};

// Saved is what the backward keeps of a row in each branch.
struct Saved {
	float lse, delta; // delta: sum of grad_o * o
};

template <class T> struct Backward : Call<T> {
	View<T> grad_o;
	T *grad_q, *grad_k, *grad_v, *grad_slc, *grad_swa; // null: not wanted
	Saved *saved;                                      // [rows, branches]

	explicit Backward(const triad_call *call)
	    : Call<T>(call), grad_o(call->in[6]), grad_q(static_cast<T *>(call->out[0].data)), grad_k(static_cast<T *>(call->out[1].data)),
	      grad_v(static_cast<T *>(call->out[2].data)), grad_slc(static_cast<T *>(call->out[3].data)), grad_swa(static_cast<T *>(call->out[4].data)),
	      saved(static_cast<Saved *>(call->workspace)) {}

	// keep stores what a row has in a branch, and the gradient of its gate.
	__device__ void keep(const Row &r, int branch, Saved x) const {
		const int64_t at = this->number(r);
		saved[at * branches + branch] = x;
		if (T *const gradient = branch == 0 ? grad_slc : grad_swa) gradient[at] = from_float<T>(x.delta);
	}
	__device__ Saved kept(const Row &r, int branch) const { return saved[this->number(r) * branches + branch]; }
};

inline int64_t saved_bytes(const triad_call *call) { return Shape(call).rows() * branches * static_cast<int64_t>(sizeof(Saved)); }

using latent::base;

} // namespace sparse
} // namespace triad
#endif
