// moe: y[t] = sum_i w[t,i] (silu(x gate[e]) * (x up[e])) down[e], e = choice[t,i]: the top experts by p = softmax(x router^T), falling; w = p,
//      divided by its sum over i if normalise
// backward, with h = silu(g) u, q = dy down^T, dh = w q:  du = dh silu(g), dg = dh u silu'(g), d = h.q; dz = w (d - sum_i w d), for every expert
//      if the weights are not normalised;  dx = dg gate^T + du up^T + dz router;  of an expert's tokens dgate = x^T dg, dup = x^T du,
//      ddown = h^T (w dy);  drouter = dz^T x
// Layout   x, dy [tokens, dim], router [experts, dim], gate, up [experts, dim, hidden], down [experts, hidden, dim], with any strides; fp32, fp16,
//          bf16. y, choice [tokens, top] int32, weight [tokens, top] fp32 and the gradients are contiguous.
// Numerics products, sums and what lies between are fp32 (IEEE, not tf32), rounded once: that meets "stored" as well. Always the same order.
// Limits   one expert may have every token, and others none: their gradients are 0.
// Special  a token with a NaN among its logits, or +inf, or only -inf has the weights NaN; of NaN and equal logits the first are chosen.
// Source   Shazeer et al. 2017, arXiv:1701.06538; SwiGLU: Shazeer 2020, arXiv:2002.05202
// A pair is a token with one of its experts, token * top + i. Both variants take the same steps and differ in their products:
//   naive    a thread an element; of an expert's gradients it looks through all pairs for those of the expert
//   grouped  pairs are sorted by expert (counted, then put into their places, always in the same order). Tiles of 64 x 64 with 4 x 4 elements a
//            thread never cross experts. The host does not know how many tokens an expert has, so it launches as many blocks as the worst case
//            needs: each walks along the experts to the tile that is its own, and the last ones find none
#include <algorithm>

#include "arguments.cuh"
#include "element.cuh"
#include "order.cuh"
#include "reduce.cuh"
#include "rows.cuh"
#include "sigmoid.cuh"
#include "sorted_pairs.cuh"
#include "spec/moe.cuh"

namespace {

using triad::Cube;
using triad::from_float;
using triad::to_float;

constexpr int threads = 256;

// State is what a call keeps in its workspace: of each token and expert z, the logits, and dz; of each pair the expert e, the weight w and its
// gradient d; g, u and q [pairs, hidden], part [pairs, dim], what an expert gives to a token; and the pairs sorted by expert.
struct State {
	float *z, *dz, *w, *d, *g, *u, *q, *part;
	int32_t *expert;
	int64_t *order, *offsets;
	int64_t tokens, experts, dim, hidden, pairs;
	int32_t top;
	bool normalise;

	triad::SortedPairs sorted() const { return {expert, order, offsets, pairs, experts}; }
};

__device__ inline int64_t begin() { return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; }
__device__ inline int64_t step() { return gridDim.x * static_cast<int64_t>(blockDim.x); }

// ---- the router ---------------------------------------------------------------------------------------------------------------------------

template <class T> __global__ void logits_kernel(State s, triad::Matrix<const T> x, triad::Matrix<const T> router) {
	for (int64_t i = begin(); i < s.tokens * s.experts; i += step()) {
		float sum = 0;
		for (int64_t k = 0; k < s.dim; k++) sum += to_float(x(i / s.experts, k)) * to_float(router(i % s.experts, k));
		s.z[i] = sum;
	}
}

// choose_kernel: a thread a token. What comes next is the largest of what comes after the last in the order of falling logits.
__global__ void choose_kernel(State s, int32_t *choice) {
	for (int64_t t = begin(); t < s.tokens; t += step()) {
		const float *z = s.z + t * s.experts;
		int64_t last = -1;
		for (int64_t i = 0; i < s.top; i++) {
			int64_t best = -1;
			for (int64_t e = 0; e < s.experts; e++) {
				const uint32_t key = triad::key_of(z[e]);
				const bool left = last < 0 || key < triad::key_of(z[last]) || (key == triad::key_of(z[last]) && e > last);
				if (left && (best < 0 || key > triad::key_of(z[best]))) best = e;
			}
			choice[t * s.top + i] = static_cast<int32_t>(last = best);
		}
	}
}

// Softmax of a token: e^(z - most) / total, total over the chosen ones or over all.
struct Softmax {
	float most, total;

	__device__ Softmax(const State &s, int64_t t) : most(-INFINITY), total(0) {
		const float *z = s.z + t * s.experts;
		for (int64_t e = 0; e < s.experts; e++) most = fmaxf(most, z[e]);
		if (s.normalise)
			for (int64_t i = 0; i < s.top; i++) total += expf(z[s.expert[t * s.top + i]] - most);
		else
			for (int64_t e = 0; e < s.experts; e++) total += expf(z[e] - most);
	}
	__device__ float of(float z) const { return expf(z - most) / total; }
};

__global__ void weights_kernel(State s, triad::Matrix<const int32_t> choice, float *weight) {
	for (int64_t t = begin(); t < s.tokens; t += step()) {
		for (int64_t i = 0; i < s.top; i++) s.expert[t * s.top + i] = choice(t, i);
		const Softmax softmax(s, t);
		for (int64_t p = t * s.top; p < (t + 1) * s.top; p++) {
			s.w[p] = softmax.of(s.z[t * s.experts + s.expert[p]]);
			if (weight != nullptr) weight[p] = s.w[p];
		}
	}
}

// scores_kernel: the gradients of a token's logits.
__global__ void scores_kernel(State s) {
	for (int64_t t = begin(); t < s.tokens; t += step()) {
		const Softmax softmax(s, t);
		float sum = 0;
		for (int64_t p = t * s.top; p < (t + 1) * s.top; p++) sum += s.w[p] * s.d[p];
		for (int64_t i = t * s.experts; i < (t + 1) * s.experts; i++) s.dz[i] = s.normalise ? 0.0f : softmax.of(s.z[i]) * -sum;
		for (int64_t p = t * s.top; p < (t + 1) * s.top; p++) s.dz[t * s.experts + s.expert[p]] = s.w[p] * (s.d[p] - sum);
	}
}

template <class T> __global__ void router_kernel(State s, triad::Matrix<const T> x, T *grad) {
	for (int64_t i = begin(); i < s.experts * s.dim; i += step()) {
		triad::LongSum sum;
		for (int64_t t = 0; t < s.tokens; t++) sum.add(s.dz[t * s.experts + i / s.dim] * to_float(x(t, i % s.dim)));
		grad[i] = from_float<T>(sum.total());
	}
}

// ---- between the products -----------------------------------------------------------------------------------------------------------------

__global__ void gated_kernel(State s) {
	for (int64_t i = begin(); i < s.pairs * s.hidden; i += step()) s.g[i] = s.g[i] * triad::sigmoid(s.g[i]).value * s.u[i];
}

// through_kernel: a warp a pair. Of g, u and q it makes dg, du and h in their places, and d.
__global__ void through_kernel(State s) {
	for (int64_t p = begin() / 32; p < s.pairs; p += step() / 32) {
		float d = 0;
		for (int64_t i = p * s.hidden + threadIdx.x % 32; i < (p + 1) * s.hidden; i += 32) {
			const float g = s.g[i], u = s.u[i], q = s.q[i], dh = s.w[p] * q;
			const triad::Sigmoid of = triad::sigmoid(g);
			const float silu = g * of.value, h = silu * u;
			d += h * q;
			s.g[i] = dh * u * (of.value * (1.0f + g * of.rest));
			s.u[i] = dh * silu;
			s.q[i] = h;
		}
		d = triad::warp_reduce(d, triad::Sum());
		if (threadIdx.x % 32 == 0) s.d[p] = d;
	}
}

// combine_kernel: y from what a token's experts give; the gradient of x has the router's part too, where there is one.
template <class T> __global__ void combine_kernel(State s, const float *w, const triad::Matrix<const T> router, T *y) {
	for (int64_t i = begin(); i < s.tokens * s.dim; i += step()) {
		const int64_t t = i / s.dim, c = i % s.dim;
		float sum = 0;
		for (int64_t p = t * s.top; p < (t + 1) * s.top; p++) sum += (w ? w[p] : 1.0f) * s.part[p * s.dim + c];
		if (w == nullptr)
			for (int64_t e = 0; e < s.experts; e++) sum += s.dz[t * s.experts + e] * to_float(router(e, c));
		y[i] = from_float<T>(sum);
	}
}

// ---- naive --------------------------------------------------------------------------------------------------------------------------------

// Of each pair out = a times its expert's b, added to what is there if `more`.
template <class A, class B> __global__ void by_rows_naive_kernel(State s, A a, B b, float *out, int64_t cols, int64_t depth, bool more) {
	for (int64_t i = begin(); i < s.pairs * cols; i += step()) {
		const int64_t p = i / cols, e = s.expert[p];
		float sum = 0;
		for (int64_t k = 0; k < depth; k++) sum += a(p, k) * b(e, k, i % cols);
		out[i] = more ? out[i] + sum : sum;
	}
}

// Of each expert out = the sum over its pairs of a[row] b[col].
template <class T, class A, class B> __global__ void by_depth_naive_kernel(State s, A a, B b, T *out, int64_t rows, int64_t cols) {
	for (int64_t i = begin(); i < s.experts * rows * cols; i += step()) {
		const int64_t e = i / (rows * cols), row = i / cols % rows, col = i % cols;
		float sum = 0;
		for (int64_t p = 0; p < s.pairs; p++)
			if (s.expert[p] == e) sum += a(p, row) * b(p, col);
		out[i] = from_float<T>(sum);
	}
}

struct Naive {
	static void prepare(const State &, cudaStream_t) {}

	template <class A, class B>
	static void by_rows(const State &s, A a, B b, float *out, int64_t cols, int64_t depth, bool more, cudaStream_t stream) {
		by_rows_naive_kernel<<<triad::blocks_for(s.pairs * cols, threads), threads, 0, stream>>>(s, a, b, out, cols, depth, more);
	}
	template <class T, class A, class B> static void by_depth(const State &s, A a, B b, T *out, int64_t rows, int64_t cols, cudaStream_t stream) {
		by_depth_naive_kernel<<<triad::blocks_for(s.experts * rows * cols, threads), threads, 0, stream>>>(s, a, b, out, rows, cols);
	}
};

// ---- grouped ------------------------------------------------------------------------------------------------------------------------------

struct Grouped {
	static void prepare(const State &s, cudaStream_t stream) { triad::sort_pairs(s.sorted(), stream); }

	template <class A, class B>
	static void by_rows(const State &s, A a, B b, float *out, int64_t cols, int64_t depth, bool more, cudaStream_t stream) {
		triad::sorted_by_rows(s.sorted(), a, b, out, cols, depth, more, stream);
	}
	template <class T, class A, class B> static void by_depth(const State &s, A a, B b, T *out, int64_t rows, int64_t cols, cudaStream_t stream) {
		triad::sorted_by_depth(s.sorted(), a, b, out, rows, cols, stream);
	}
};

// ---- launchers ----------------------------------------------------------------------------------------------------------------------------

// state_of lays the state of a call out in its workspace, from whose beginning `used` bytes are then taken.
State state_of(const triad_call *call, int64_t &used) {
	const bool backward = call->n_out == 5;
	const int64_t tokens = call->in[0].shape[0], experts = call->in[1].shape[0], dim = call->in[0].shape[1];
	const int64_t hidden = call->in[2].shape[2], pairs = tokens * static_cast<int64_t>(call->attr[0]);
	used = 0;
	const auto take = [&](int64_t bytes) {
		void *const at = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(call->workspace) + static_cast<uintptr_t>(used));
		used += (bytes + 255) / 256 * 256;
		return at;
	};
	const auto floats = [&](int64_t n) { return static_cast<float *>(take(4 * n)); };
	return {floats(tokens * experts), floats(backward ? tokens * experts : 0), floats(pairs), floats(backward ? pairs : 0),
	        floats(pairs * hidden), floats(pairs * hidden), floats(backward ? pairs * hidden : 0), floats(pairs * dim),
	        static_cast<int32_t *>(take(4 * pairs)), static_cast<int64_t *>(take(8 * pairs)), static_cast<int64_t *>(take(8 * (experts + 1))),
	        tokens, experts, dim, hidden, pairs, static_cast<int32_t>(call->attr[0]), call->attr[1] != 0};
}

int64_t workspace(const triad_call *call) {
	int64_t used;
	state_of(call, used);
	return used;
}

template <class T> Cube<T> cube_of(const triad_tensor &t) { return {static_cast<const T *>(t.data), t.stride[0], t.stride[1], t.stride[2]}; }

// route: the logits; the choice, unless a backward has it; the weights under it.
template <class T> void route(const triad_call *call, const State &s, const triad_tensor &choice, float *weight) {
	const cudaStream_t stream = triad::stream_of(call);
	const triad::Matrix<const T> x(call->in[0]), router(call->in[1]);
	const unsigned blocks = triad::blocks_for(s.tokens, threads);
	logits_kernel<<<triad::blocks_for(s.tokens * s.experts, threads), threads, 0, stream>>>(s, x, router);
	if (call->n_out == 3) choose_kernel<<<blocks, threads, 0, stream>>>(s, static_cast<int32_t *>(choice.data));
	weights_kernel<<<blocks, threads, 0, stream>>>(s, triad::Matrix<const int32_t>(choice), weight);
}

template <class T, class Products> int moe_fwd(const triad_call *call) {
	int64_t used;
	const State s = state_of(call, used);
	const cudaStream_t stream = triad::stream_of(call);
	const triad::Gathered<T> x{triad::Matrix<const T>(call->in[0]), s.top, nullptr};
	if (s.tokens == 0) return TRIAD_OK;
	route<T>(call, s, call->out[1], static_cast<float *>(call->out[2].data));
	Products::prepare(s, stream);
	Products::by_rows(s, x, cube_of<T>(call->in[2]), s.g, s.hidden, s.dim, false, stream);
	Products::by_rows(s, x, cube_of<T>(call->in[3]), s.u, s.hidden, s.dim, false, stream);
	gated_kernel<<<triad::blocks_for(s.pairs * s.hidden, threads), threads, 0, stream>>>(s);
	Products::by_rows(s, triad::Own{s.g, s.hidden}, cube_of<T>(call->in[4]), s.part, s.dim, s.hidden, false, stream);
	combine_kernel<<<triad::blocks_for(s.tokens * s.dim, threads), threads, 0, stream>>>(s, s.w, triad::Matrix<const T>(call->in[1]),
	                                                                                       static_cast<T *>(call->out[0].data));
	return triad::launched();
}

template <class T, class Products> int moe_bwd(const triad_call *call) {
	int64_t used;
	const State s = state_of(call, used);
	const cudaStream_t stream = triad::stream_of(call);
	const triad::Matrix<const T> x(call->in[0]), router(call->in[1]), dy(call->in[6]);
	const Cube<T> gate = cube_of<T>(call->in[2]), up = cube_of<T>(call->in[3]), down = cube_of<T>(call->in[4]);
	const triad::Gathered<T> of_x{x, s.top, nullptr}, of_dy{dy, s.top, nullptr}, weighted{dy, s.top, s.w};
	const triad::Own dg{s.g, s.hidden}, du{s.u, s.hidden}, h{s.q, s.hidden};
	T *const grad[] = {static_cast<T *>(call->out[0].data), static_cast<T *>(call->out[1].data), static_cast<T *>(call->out[2].data),
	                   static_cast<T *>(call->out[3].data), static_cast<T *>(call->out[4].data)};
	if (s.tokens > 0) route<T>(call, s, call->in[5], nullptr);
	Products::prepare(s, stream); // without tokens every sum is empty
	if (s.tokens > 0) {
		Products::by_rows(s, of_x, gate, s.g, s.hidden, s.dim, false, stream);
		Products::by_rows(s, of_x, up, s.u, s.hidden, s.dim, false, stream);
		Products::by_rows(s, of_dy, down.turned(), s.q, s.hidden, s.dim, false, stream);
		through_kernel<<<triad::blocks_for(s.pairs * 32, threads), threads, 0, stream>>>(s);
		scores_kernel<<<triad::blocks_for(s.tokens, threads), threads, 0, stream>>>(s);
	}
	if (grad[0] != nullptr && s.tokens > 0) {
		Products::by_rows(s, dg, gate.turned(), s.part, s.dim, s.hidden, false, stream);
		Products::by_rows(s, du, up.turned(), s.part, s.dim, s.hidden, true, stream);
		combine_kernel<<<triad::blocks_for(s.tokens * s.dim, threads), threads, 0, stream>>>(s, static_cast<const float *>(nullptr), router,
		                                                                                       grad[0]);
	}
	if (grad[1] != nullptr) router_kernel<<<triad::blocks_for(s.experts * s.dim, threads), threads, 0, stream>>>(s, x, grad[1]);
	if (grad[2] != nullptr) Products::by_depth(s, of_x, dg, grad[2], s.dim, s.hidden, stream);
	if (grad[3] != nullptr) Products::by_depth(s, of_x, du, grad[3], s.dim, s.hidden, stream);
	if (grad[4] != nullptr) Products::by_depth(s, h, weighted, grad[4], s.hidden, s.dim, stream);
	return triad::launched();
}

const triad::Limit few_pairs = triad::limit("fewer than 2^31 pairs", [](triad::Check &check, const triad_call *call) {
	check.that(call->in[0].shape[0] * call->attr[0] <= INT32_MAX, "%g pairs of token and expert are too many", call->in[0].shape[0] * call->attr[0]);
});

template <class T> int moe_fwd_naive(const triad_call *call) { return moe_fwd<T, Naive>(call); }
template <class T> int moe_fwd_grouped(const triad_call *call) { return moe_fwd<T, Grouped>(call); }
template <class T> int moe_bwd_naive(const triad_call *call) { return moe_bwd<T, Naive>(call); }
template <class T> int moe_bwd_grouped(const triad_call *call) { return moe_bwd<T, Grouped>(call); }

} // namespace

// ---- registration ---------------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(moe, naive, forward, .contract("fp32").dtypes(triad::floats).outputs(7).workspace(workspace).limits(few_pairs).launch(TRIAD_BY_DTYPE(moe_fwd_naive)))
TRIAD_KERNEL(moe, grouped, forward, .contract("fp32").dtypes(triad::floats).outputs(7).workspace(workspace).limits(few_pairs).launch(TRIAD_BY_DTYPE(moe_fwd_grouped)))
TRIAD_KERNEL(moe, naive, backward, .contract("fp32").dtypes(triad::floats).outputs(31).workspace(workspace).limits(few_pairs).launch(TRIAD_BY_DTYPE(moe_bwd_naive)))
TRIAD_KERNEL(moe, grouped, backward, .contract("fp32").dtypes(triad::floats).outputs(31).workspace(workspace).limits(few_pairs).launch(TRIAD_BY_DTYPE(moe_bwd_grouped)))
