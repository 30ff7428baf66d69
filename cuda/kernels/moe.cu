// moe: y[t] = sum_i w[t,i] (silu(x gate[e]) * (x up[e])) down[e], e = choice[t,i]: the top experts by p = softmax(x router^T), falling; w = p,
//      divided by its sum over i if normalise
// backward, with h = silu(g) u, q = dy down^T, dh = w q:  du = dh silu(g), dg = dh u silu'(g), d = h.q; dz = w (d - sum_i w d), for every expert
//      if the weights are not normalised;  dx = dg gate^T + du up^T + dz router;  of an expert's tokens dgate = x^T dg, dup = x^T du,
//      ddown = h^T (w dy);  drouter = dz^T x
// Layout   x, dy [tokens, dim], router [experts, dim], gate, up [experts, dim, hidden], down [experts, hidden, dim], with any strides; fp32, fp16,
//          bf16. y, choice [tokens, top] int32, weight [tokens, top] fp32 and the gradients are contiguous.
// Numerics products, sums and what lies between are fp32 (IEEE, not tf32), rounded once: that meets "stored" as well. mma stores what lies between.
//          Always the same order.
// Limits   one expert may have every token, and others none: their gradients are 0.
// Special  a token with a NaN among its logits, or +inf, or only -inf has the weights NaN; of NaN and equal logits the first are chosen.
// Source   Shazeer et al. 2017, arXiv:1701.06538; SwiGLU: Shazeer 2020, arXiv:2002.05202
// A pair is a token with one of its experts, token * top + i. All variants take the same steps and differ in their products:
//   naive    a thread an element; of an expert's gradients it looks through all pairs for those of the
//            expert. The readable one, and the one to trust first. Costs: every operand is read anew for
//            every product
//   grouped  pairs are sorted by expert (counted, then put into their places, always in the same order).
//            Tiles of 64 x 64 with 4 x 4 elements a thread never cross experts. The host does not know how
//            many tokens an expert has, so it launches as many blocks as the worst case needs: each walks
//            along the experts to the tile that is its own, and the last ones find none. Costs: the sort,
//            shared memory, and blocks without a tile
//   mma      as grouped, of fp16 and bf16: products on tensor cores, 128 x 128 elements a block, with copies of the tokens' rows beside them
//            (hopper/sorted_mma.cuh). One product gives g and u of a column to the same thread, so that of a forward only h is written. What lies
//            between, in the order of the experts, is rounded to the dtype. A warp a token for the router. Costs: a newer GPU, rows of whole
//            vectors of 16 bytes, and in the backward a copy of x and of w dy in the experts' order: products over tokens read these
//   sm90_tma as mma, with the products of grouped_gemm/sm90_tma.cuh: wgmma of tiles that the copy engine brings. It reads rows one behind the other, so
//            that x and dy are copied in the experts' order in both passes, and g and u are written; w dy is not: the gradient of down is the sum of
//            (w h)^T dy. Both terms of dx are stored, and added with what comes from the router. Costs: a GPU of 9.0, and these copies
#include <algorithm>

#include "arguments.cuh"
#include "capability.cuh"
#include "element.cuh"
#include "grouped_gemm/sm90_tma.cuh"
#include "hopper/sorted_mma.cuh"
#include "order.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "room.cuh"
#include "rows.cuh"
#include "sigmoid.cuh"
#include "sorted_pairs.cuh"
#include "spec/moe.cuh"
#include "split_product.cuh"

namespace {

using triad::Cube;
using triad::from_float;
using triad::to_float;

constexpr int threads = 256;

// State is what a call keeps in its workspace: of each token and expert z, the logits, and dz; of each pair the expert e, the weight w and its
// gradient d; g, u and q [pairs, hidden], part [pairs, dim], what an expert gives to a token, but of mma; and the pairs sorted by expert.
struct State {
	float *z, *dz, *w, *d, *g, *u, *q, *part;
	int32_t *expert;
	int64_t *order, *offsets;
	int64_t tokens, experts, dim, hidden, pairs;
	int32_t top;
	bool normalise;

	triad::SortedPairs sorted(int64_t *place = nullptr) const { return {expert, order, offsets, pairs, experts, place}; }
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

// What follows is done by Lanes lanes a token: 1, or a warp.
template <int Lanes> __device__ inline int lane() { return static_cast<int>(threadIdx.x) % Lanes; }

// What comes next is the highest of what comes below the last.
template <int Lanes> __global__ void choose_kernel(State s, int32_t *choice) {
	for (int64_t t = begin() / Lanes; t < s.tokens; t += step() / Lanes) {
		triad::Rank last = triad::no_rank;
		for (int64_t i = 0; i < s.top; i++) {
			triad::Rank best = 0;
			for (int64_t e = lane<Lanes>(); e < s.experts; e += Lanes) {
				const triad::Rank own = triad::rank_of(s.z[t * s.experts + e], e);
				if (own < last && own > best) best = own;
			}
			last = triad::warp_reduce<Lanes>(best, triad::Higher());
			if (lane<Lanes>() == 0) choice[t * s.top + i] = triad::place_of(last);
		}
	}
}

// Softmax of a token: e^(z - most) / total, total over the chosen ones or over all.
template <int Lanes> struct Softmax {
	float most, total;

	__device__ Softmax(const State &s, int64_t t) : most(-INFINITY), total(0) {
		const float *z = s.z + t * s.experts;
		for (int64_t e = lane<Lanes>(); e < s.experts; e += Lanes) most = fmaxf(most, z[e]);
		most = triad::warp_reduce<Lanes>(most, triad::Max());
		if (s.normalise)
			for (int64_t i = lane<Lanes>(); i < s.top; i += Lanes) total += expf(z[s.expert[t * s.top + i]] - most);
		else
			for (int64_t e = lane<Lanes>(); e < s.experts; e += Lanes) total += expf(z[e] - most);
		total = triad::warp_reduce<Lanes>(total, triad::Sum());
	}
	__device__ float of(float z) const { return expf(z - most) / total; }
};

template <int Lanes> __global__ void weights_kernel(State s, triad::Matrix<const int32_t> choice, float *weight) {
	for (int64_t t = begin() / Lanes; t < s.tokens; t += step() / Lanes) {
		for (int64_t i = lane<Lanes>(); i < s.top; i += Lanes) s.expert[t * s.top + i] = choice(t, i);
		if (Lanes > 1) __syncwarp(); // the lanes read each other's
		const Softmax<Lanes> softmax(s, t);
		for (int64_t p = t * s.top + lane<Lanes>(); p < (t + 1) * s.top; p += Lanes) {
			s.w[p] = softmax.of(s.z[t * s.experts + s.expert[p]]);
			if (weight != nullptr) weight[p] = s.w[p];
		}
	}
}

// scores_kernel: the gradients of a token's logits.
template <int Lanes> __global__ void scores_kernel(State s) {
	for (int64_t t = begin() / Lanes; t < s.tokens; t += step() / Lanes) {
		const Softmax<Lanes> softmax(s, t);
		float sum = 0;
		for (int64_t p = t * s.top + lane<Lanes>(); p < (t + 1) * s.top; p += Lanes) sum += s.w[p] * s.d[p];
		sum = triad::warp_reduce<Lanes>(sum, triad::Sum());
		for (int64_t i = t * s.experts + lane<Lanes>(); i < (t + 1) * s.experts; i += Lanes) s.dz[i] = s.normalise ? 0.0f : softmax.of(s.z[i]) * -sum;
		if (Lanes > 1) __syncwarp(); // before others write their own
		for (int64_t p = t * s.top + lane<Lanes>(); p < (t + 1) * s.top; p += Lanes) s.dz[t * s.experts + s.expert[p]] = s.w[p] * (s.d[p] - sum);
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

// back makes dg, du and h of g, u and q in their places, and adds to d.
__device__ void back(float &g, float &u, float &q, float w, float &d) {
	const float dh = w * q;
	const triad::Sigmoid of = triad::sigmoid(g);
	const float silu = g * of.value, h = silu * u;
	d += h * q;
	g = dh * u * (of.value * (1.0f + g * of.rest)), u = dh * silu, q = h;
}

// through_kernel: a warp a pair.
__global__ void through_kernel(State s) {
	for (int64_t p = begin() / 32; p < s.pairs; p += step() / 32) {
		float d = 0;
		for (int64_t i = p * s.hidden + threadIdx.x % 32; i < (p + 1) * s.hidden; i += 32) {
			back(s.g[i], s.u[i], s.q[i], s.w[p], d);
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

// ---- mma ----------------------------------------------------------------------------------------------------------------------------------

// Halves are what mma and sm90_tma have in the workspace besides: in the order of the experts g, u, h, which is q first, and part, of sm90_tma in two
// terms; the rows of x and of dy, of mma times w; where each pair lies; and sums of the router's gradient.
template <class T> struct Halves {
	T *g, *u, *h, *part, *also, *x, *dy;
	int64_t *place;
	float *sums;
};

// Gated makes h of the sums with gate and up.
template <class T> struct Gated {
	__device__ static void store(const triad::hopper::MmaSums<T> &sums, T *h, T *) {
		sums.template store_values<4>(h, [&](int i, int j, int e) {
			const float g = sums.sum[i][j][e], u = sums.sum[i][j + 4][e];
			return g * triad::sigmoid(g).value * u;
		});
	}
};

// through_sorted_kernel: as through_kernel, 16 bytes a load; h is times its weight if Weighted.
template <class T, bool Weighted> __global__ void through_sorted_kernel(State s, Halves<T> m) {
	constexpr int V = triad::vector<T>;
	for (int64_t at = begin() / 32; at < s.pairs; at += step() / 32) {
		const float w = s.w[s.order[at]];
		float d = 0;
		for (int64_t i = at * s.hidden + lane<32>() * V; i < (at + 1) * s.hidden; i += 32 * V) {
			float g[V], u[V], q[V];
			triad::load(m.g + i, g), triad::load(m.u + i, u), triad::load(m.h + i, q);
#pragma unroll
			for (int j = 0; j < V; j++) {
				back(g[j], u[j], q[j], w, d);
				if (Weighted) q[j] *= w;
			}
			triad::store(m.g + i, g), triad::store(m.u + i, u), triad::store(m.h + i, q);
		}
		d = triad::warp_reduce(d, triad::Sum());
		if (lane<32>() == 0) s.d[s.order[at]] = d;
	}
}

// combine_sorted_kernel: as combine_kernel, 16 bytes a load.
template <class T> __global__ void combine_sorted_kernel(State s, Halves<T> m, const float *w, triad::Rows<const T> router, T *y) {
	constexpr int V = triad::vector<T>;
	for (int64_t i = begin() * V; i < s.tokens * s.dim; i += step() * V) {
		const int64_t t = i / s.dim, c = i % s.dim;
		float sum[V] = {};
		const auto add = [&](float by, const T *from) {
			float v[V];
			triad::load(from, v);
#pragma unroll
			for (int j = 0; j < V; j++) sum[j] += by * v[j];
		};
		for (int64_t p = t * s.top; p < (t + 1) * s.top; p++) {
			add(w ? w[p] : 1.0f, m.part + m.place[p] * s.dim + c);
			if (m.also != nullptr) add(1.0f, m.also + m.place[p] * s.dim + c);
		}
		for (int64_t e = 0; e < s.experts && w == nullptr; e++) add(s.dz[t * s.experts + e], router.row(e) + c);
		triad::store(y + i, sum);
	}
}

// ---- sm90_tma -----------------------------------------------------------------------------------------------------------------------------

// gated_sorted_kernel makes h of g and u, 16 bytes a load.
template <class T> __global__ void gated_sorted_kernel(State s, Halves<T> m) {
	constexpr int V = triad::vector<T>;
	for (int64_t i = begin() * V; i < s.pairs * s.hidden; i += step() * V) {
		float g[V], u[V];
		triad::load(m.g + i, g), triad::load(m.u + i, u);
#pragma unroll
		for (int j = 0; j < V; j++) g[j] *= triad::sigmoid(g[j]).value * u[j];
		triad::store(m.h + i, g);
	}
}

// TmaProducts launches products of rows that are sorted and contiguous. The first that cannot be launched is the last.
template <class T> class TmaProducts {
	using Product = triad::grouped_gemm::Product<T>;
	const triad::SortedPairs s;
	const cudaStream_t stream;
	int refused = TRIAD_OK;

	void launch(const Product &p, bool along_kb) {
		if (refused == TRIAD_OK) refused = triad::grouped_gemm::launch_groups(p, along_kb, stream);
	}

public:
	TmaProducts(const triad::SortedPairs &pairs, cudaStream_t in) : s(pairs), stream(in) {}
	int status() const { return refused; }

	// Of each pair y = a times its expert's b.
	void by_rows(const T *a, const Cube<T> &b, T *y, int64_t cols, int64_t depth) {
		launch({{a, depth, 1}, {b.data, b.col, b.row}, y, s.offsets, 1, s.groups, b.group, s.pairs, cols, depth, false}, b.row == 1);
	}
	// Of each expert y [rows, cols] = the sum over its pairs of a[row] b[col].
	void by_depth(const T *a, const T *b, T *y, int64_t rows, int64_t cols) {
		launch({{a, 1, rows}, {b, 1, cols}, y, s.offsets, 1, s.groups, 0, rows, cols, s.pairs, true}, false);
	}
};

// ---- launchers ----------------------------------------------------------------------------------------------------------------------------

bool is_backward(const triad_call *call) { return call->n_out == 5; }

// state_of lays the state of a call out, without what lies between the products if that is not fp32.
State state_of(const triad_call *call, triad::Room &room, bool between) {
	const int64_t tokens = call->in[0].shape[0], experts = call->in[1].shape[0], dim = call->in[0].shape[1];
	const int64_t hidden = call->in[2].shape[2], pairs = tokens * static_cast<int64_t>(call->attr[0]);
	return {room.take<float>(tokens * experts), room.take<float>(tokens * experts, is_backward(call)), room.take<float>(pairs),
	        room.take<float>(pairs, is_backward(call)), room.take<float>(pairs * hidden, between), room.take<float>(pairs * hidden, between),
	        room.take<float>(pairs * hidden, between && is_backward(call)), room.take<float>(pairs * dim, between), room.take<int32_t>(pairs), room.take<int64_t>(pairs), room.take<int64_t>(experts + 1),
	        tokens, experts, dim, hidden, pairs, static_cast<int32_t>(call->attr[0]), call->attr[1] != 0};
}

// halves_of lays out what tensor cores need besides; Sorted: of products whose operands are all in the experts' order.
template <class T, bool Sorted> Halves<T> halves_of(const triad_call *call, const State &s, triad::Room &room) {
	const bool backward = is_backward(call), apart = backward || Sorted;
	const int64_t in = s.pairs * s.hidden, out = s.pairs * s.dim;
	return {room.take<T>(in, apart), room.take<T>(in, apart), room.take<T>(in), room.take<T>(out), backward && Sorted ? room.take<T>(out) : nullptr,
	        room.take<T>(out, apart), room.take<T>(out, backward), room.take<int64_t>(s.pairs),
	        room.take<float>(triad::split_floats(s.experts, s.dim, s.tokens), backward)};
}

int64_t workspace(const triad_call *call) {
	triad::Room room(call);
	state_of(call, room, true);
	return room.used;
}

template <bool Sorted> int64_t workspace_of_halves(const triad_call *call) {
	triad::Room room(call);
	halves_of<uint16_t, Sorted>(call, state_of(call, room, false), room);
	return room.used;
}

template <class T> Cube<T> cube_of(const triad_tensor &t) { return {static_cast<const T *>(t.data), t.stride[0], t.stride[1], t.stride[2]}; }

// weigh: of the logits the choice, unless a backward has it; the weights under it.
template <int Lanes> void weigh(const triad_call *call, const State &s, const triad_tensor &choice, float *weight) {
	const cudaStream_t stream = triad::stream_of(call);
	const unsigned blocks = triad::blocks_for(s.tokens * Lanes, threads);
	if (!is_backward(call)) choose_kernel<Lanes><<<blocks, threads, 0, stream>>>(s, static_cast<int32_t *>(choice.data));
	weights_kernel<Lanes><<<blocks, threads, 0, stream>>>(s, triad::Matrix<const int32_t>(choice), weight);
}

// route: the logits; the choice, unless a backward has it; the weights under it.
template <class T> void route(const triad_call *call, const State &s, const triad_tensor &choice, float *weight) {
	const triad::Matrix<const T> x(call->in[0]), router(call->in[1]);
	logits_kernel<<<triad::blocks_for(s.tokens * s.experts, threads), threads, 0, triad::stream_of(call)>>>(s, x, router);
	weigh<1>(call, s, choice, weight);
}

template <class T, class Products> int moe_fwd(const triad_call *call) {
	triad::Room room(call);
	const State s = state_of(call, room, true);
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
	triad::Room room(call);
	const State s = state_of(call, room, true);
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
		scores_kernel<1><<<triad::blocks_for(s.tokens, threads), threads, 0, stream>>>(s);
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

template <class T>
void route_mma(const triad_call *call, const State &s, triad::hopper::PairProducts<T> &products, const triad_tensor &choice, float *weight) {
	const triad::Rows<const T> x(call->in[0]), router(call->in[1]);
	products.fp32({x.data, x.stride, 1}, {router.data, router.stride, 1}, s.z, s.tokens, s.experts, s.dim);
	weigh<32>(call, s, choice, weight);
}

template <class T> void launch_combine(const triad_call *call, const State &s, const Halves<T> &m, const float *w, T *y) {
	combine_sorted_kernel<<<triad::blocks_for(s.tokens * s.dim / triad::vector<T>, threads), threads, 0, triad::stream_of(call)>>>(
	    s, m, w, triad::Rows<const T>(call->in[1]), y);
}

template <class T> int moe_fwd_mma(const triad_call *call) {
	triad::Room room(call);
	const State s = state_of(call, room, false);
	const Halves<T> m = halves_of<T, false>(call, s, room);
	if (s.tokens == 0) return TRIAD_OK;
	const triad::Rows<const T> x(call->in[0]);
	triad::hopper::PairProducts<T> products{s.sorted(m.place), triad::stream_of(call)};
	route_mma(call, s, products, call->out[1], static_cast<float *>(call->out[2].data));
	triad::sort_pairs(products.s, products.stream);
	products.template beside<Gated<T>>(
	    products.of({x.data, x.stride, s.top}, cube_of<T>(call->in[2]), m.h, s.hidden, s.dim).with(cube_of<T>(call->in[3]), m.h));
	products.by_rows(products.of({m.h, s.hidden, 0}, cube_of<T>(call->in[4]), m.part, s.dim, s.hidden));
	launch_combine<T>(call, s, m, s.w, static_cast<T *>(call->out[0].data));
	return products.status();
}

template <class T> int moe_bwd_mma(const triad_call *call) {
	triad::Room room(call);
	const State s = state_of(call, room, false);
	const Halves<T> m = halves_of<T, false>(call, s, room);
	const triad::Rows<const T> x(call->in[0]), dy(call->in[6]);
	const Cube<T> gate = cube_of<T>(call->in[2]), up = cube_of<T>(call->in[3]), down = cube_of<T>(call->in[4]);
	const auto grad = [&](int i) { return static_cast<T *>(call->out[i].data); };
	triad::hopper::PairProducts<T> products{s.sorted(m.place), triad::stream_of(call)};
	if (s.tokens > 0) route_mma<T>(call, s, products, call->in[5], nullptr);
	triad::sort_pairs(products.s, products.stream); // without tokens every sum is empty
	if (s.tokens > 0) {
		products.template beside<triad::hopper::Apart<T>>(products.of({x.data, x.stride, s.top}, gate, m.g, s.hidden, s.dim).with(up, m.u));
		products.by_rows(products.of({dy.data, dy.stride, s.top}, down.turned(), m.h, s.hidden, s.dim));
		through_sorted_kernel<T, false><<<triad::blocks_for(s.pairs * 32, threads), threads, 0, products.stream>>>(s, m);
		scores_kernel<32><<<triad::blocks_for(s.tokens * 32, threads), threads, 0, products.stream>>>(s);
	}
	if (grad(0) != nullptr && s.tokens > 0) {
		products.by_rows(products.of({m.g, s.hidden, 0}, gate.turned(), m.part, s.dim, s.hidden).plus({m.u, s.hidden, 0}, up.turned()));
		launch_combine<T>(call, s, m, nullptr, grad(0));
	}
	if (grad(1) != nullptr)
		triad::split_product<float, T>({{s.dz, 1, s.experts}, {x.data, 1, x.stride}, grad(1), m.sums, s.experts, s.dim, s.tokens}, products.stream);
	products.sort_rows({x.data, x.stride, s.top}, nullptr, m.x, s.dim);
	products.sort_rows({dy.data, dy.stride, s.top}, s.w, m.dy, s.dim);
	if (grad(2) != nullptr) products.by_depth(m.x, m.g, grad(2), s.dim, s.hidden);
	if (grad(3) != nullptr) products.by_depth(m.x, m.u, grad(3), s.dim, s.hidden);
	if (grad(4) != nullptr) products.by_depth(m.h, m.dy, grad(4), s.hidden, s.dim);
	return products.status();
}

template <class T> int moe_fwd_tma(const triad_call *call) {
	triad::Room room(call);
	const State s = state_of(call, room, false);
	const Halves<T> m = halves_of<T, true>(call, s, room);
	const triad::Rows<const T> x(call->in[0]);
	triad::hopper::PairProducts<T> router{s.sorted(m.place), triad::stream_of(call)};
	route_mma(call, s, router, call->out[1], static_cast<float *>(call->out[2].data));
	triad::sort_pairs(router.s, router.stream);
	router.sort_rows({x.data, x.stride, s.top}, nullptr, m.x, s.dim);
	TmaProducts<T> products(router.s, router.stream);
	products.by_rows(m.x, cube_of<T>(call->in[2]), m.g, s.hidden, s.dim);
	products.by_rows(m.x, cube_of<T>(call->in[3]), m.u, s.hidden, s.dim);
	gated_sorted_kernel<T><<<triad::blocks_for(s.pairs * s.hidden / triad::vector<T>, threads), threads, 0, router.stream>>>(s, m);
	products.by_rows(m.h, cube_of<T>(call->in[4]), m.part, s.dim, s.hidden);
	launch_combine<T>(call, s, m, s.w, static_cast<T *>(call->out[0].data));
	return products.status() != TRIAD_OK ? products.status() : router.status();
}

template <class T> int moe_bwd_tma(const triad_call *call) {
	triad::Room room(call);
	const State s = state_of(call, room, false);
	const Halves<T> m = halves_of<T, true>(call, s, room);
	const triad::Rows<const T> x(call->in[0]), dy(call->in[6]);
	const Cube<T> gate = cube_of<T>(call->in[2]), up = cube_of<T>(call->in[3]), down = cube_of<T>(call->in[4]);
	const auto grad = [&](int i) { return static_cast<T *>(call->out[i].data); };
	triad::hopper::PairProducts<T> router{s.sorted(m.place), triad::stream_of(call)};
	route_mma<T>(call, s, router, call->in[5], nullptr);
	triad::sort_pairs(router.s, router.stream);
	router.sort_rows({x.data, x.stride, s.top}, nullptr, m.x, s.dim);
	router.sort_rows({dy.data, dy.stride, s.top}, nullptr, m.dy, s.dim);
	TmaProducts<T> products(router.s, router.stream);
	products.by_rows(m.x, gate, m.g, s.hidden, s.dim);
	products.by_rows(m.x, up, m.u, s.hidden, s.dim);
	products.by_rows(m.dy, down.turned(), m.h, s.hidden, s.dim);
	through_sorted_kernel<T, true><<<triad::blocks_for(s.pairs * 32, threads), threads, 0, router.stream>>>(s, m);
	scores_kernel<32><<<triad::blocks_for(s.tokens * 32, threads), threads, 0, router.stream>>>(s);
	if (grad(0) != nullptr) {
		products.by_rows(m.g, gate.turned(), m.part, s.dim, s.hidden);
		products.by_rows(m.u, up.turned(), m.also, s.dim, s.hidden);
		launch_combine<T>(call, s, m, nullptr, grad(0));
	}
	if (grad(1) != nullptr)
		triad::split_product<float, T>({{s.dz, 1, s.experts}, {x.data, 1, x.stride}, grad(1), m.sums, s.experts, s.dim, s.tokens}, router.stream);
	if (grad(2) != nullptr) products.by_depth(m.x, m.g, grad(2), s.dim, s.hidden);
	if (grad(3) != nullptr) products.by_depth(m.x, m.u, grad(3), s.dim, s.hidden);
	if (grad(4) != nullptr) products.by_depth(m.h, m.dy, grad(4), s.hidden, s.dim);
	return products.status() != TRIAD_OK ? products.status() : router.status();
}

const triad::Limit few_pairs = triad::limit("fewer than 2^31 pairs", [](triad::Check &check, const triad_call *call) {
	check.that(call->in[0].shape[0] * call->attr[0] <= INT32_MAX, "%g pairs of token and expert are too many", call->in[0].shape[0] * call->attr[0]);
});

template <class T> int moe_fwd_naive(const triad_call *call) { return moe_fwd<T, Naive>(call); }
template <class T> int moe_fwd_grouped(const triad_call *call) { return moe_fwd<T, Grouped>(call); }
template <class T> int moe_bwd_naive(const triad_call *call) { return moe_bwd<T, Naive>(call); }
template <class T> int moe_bwd_grouped(const triad_call *call) { return moe_bwd<T, Grouped>(call); }

// Tensor cores get 16 bytes of a row at once, and so they store.
template <class... Name> triad::Limits vectors(triad::Limit gpu, Name... also) {
	return {few_pairs, gpu, triad::multiple_of("dim", 8), triad::multiple_of("hidden", 8),
	        triad::contiguous_columns("x", "router", "gate", "up", "down", also...),
	        triad::stepped(8, "x", "router", "gate", "up", "down", also...), triad::aligned(16)};
}

template <class... Name> triad::Limits mma(Name... also) { return vectors(triad::capability("mma", 80, true), also...); }

// The copy engine reads gate, up and down where they lie, and rows of pairs.
void check_maps(triad::Check &check, const triad_call *call) {
	const int64_t pairs = call->in[0].shape[0] * static_cast<int64_t>(call->attr[0]);
	check.that(pairs > 0 && pairs <= triad::hopper::ragged_rows, "%lld pairs of token and expert: want 1 to 2^30", static_cast<long long>(pairs));
	triad::grouped_gemm::check_map(check, call->in[2], "gate");
	triad::grouped_gemm::check_map(check, call->in[3], "up");
	triad::grouped_gemm::check_map(check, call->in[4], "down");
}

template <class... Name> triad::Limits tma(Name... also) {
	triad::Limits limits = vectors(triad::wgmma_capability(), also...);
	limits.push_back(triad::limit("operands that the copy engine can read: no size 0, at most 2^30 pairs, strides above 0", check_maps));
	return limits;
}

} // namespace

// ---- registration ---------------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(moe, naive, forward, .contract("fp32").dtypes(triad::floats).outputs(7).workspace(workspace).limits(few_pairs).launch(TRIAD_BY_DTYPE(moe_fwd_naive)))
TRIAD_KERNEL(moe, grouped, forward, .contract("fp32").dtypes(triad::floats).outputs(7).workspace(workspace).limits(few_pairs).launch(TRIAD_BY_DTYPE(moe_fwd_grouped)))
TRIAD_KERNEL(moe, naive, backward, .contract("fp32").dtypes(triad::floats).outputs(31).workspace(workspace).limits(few_pairs).launch(TRIAD_BY_DTYPE(moe_bwd_naive)))
TRIAD_KERNEL(moe, grouped, backward, .contract("fp32").dtypes(triad::floats).outputs(31).workspace(workspace).limits(few_pairs).launch(TRIAD_BY_DTYPE(moe_bwd_grouped)))
TRIAD_KERNEL(moe, mma, forward, .asynchronous().contract("stored").dtypes(triad::halves).outputs(7).workspace(workspace_of_halves<false>).limits(mma()).launch(TRIAD_BY_HALF(moe_fwd_mma)))
TRIAD_KERNEL(moe, mma, backward, .asynchronous().contract("stored").dtypes(triad::halves).outputs(31).workspace(workspace_of_halves<false>).limits(mma("grad_y")).launch(TRIAD_BY_HALF(moe_bwd_mma)))
TRIAD_KERNEL(moe, sm90_tma, forward, .asynchronous().contract("stored").dtypes(triad::halves).outputs(7).workspace(workspace_of_halves<true>).limits(tma()).launch(TRIAD_BY_HALF(moe_fwd_tma)))
TRIAD_KERNEL(moe, sm90_tma, backward, .asynchronous().contract("stored").dtypes(triad::halves).outputs(31).workspace(workspace_of_halves<true>).limits(tma("grad_y")).launch(TRIAD_BY_HALF(moe_bwd_tma)))
