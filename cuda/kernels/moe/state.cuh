// state.cuh: what the variants of moe share; see moe.cu.
#ifndef TRIAD_MOE_STATE_CUH
#define TRIAD_MOE_STATE_CUH
#include "expert_router.cuh"
#include "hopper/sorted_mma.cuh"
#include "pack.cuh"
#include "room.cuh"
#include "sigmoid.cuh"
#include "split_product.cuh"

namespace triad {
namespace moe {

constexpr int threads = 256;

// State is what a call keeps in its workspace: the router's; g, u and q [pairs, hidden], part [pairs, dim], what an expert gives to a token, of products in
// fp32; and the pairs sorted by expert.
struct State : Router {
	float *g, *u, *q, *part;
	int64_t *order, *offsets;
	int64_t hidden, pairs;

	SortedPairs sorted(int64_t *place = nullptr) const { return {expert, order, offsets, pairs, experts, place}; }
};

__device__ inline int64_t begin() { return blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; }
__device__ inline int64_t step() { return gridDim.x * static_cast<int64_t>(blockDim.x); }

// back makes dg, du and h of g, u and q in their places, and adds to d.
__device__ inline void back(float &g, float &u, float &q, float w, float &d) {
	const float dh = w * q;
	const Sigmoid of = sigmoid(g);
	const float silu = g * of.value, h = silu * u;
	d += h * q;
	g = dh * u * (of.value * (1.0f + g * of.rest)), u = dh * silu, q = h;
}

inline bool is_backward(const triad_call *call) { return call->n_out == 5; }

// state_of lays the state of a call out, with what lies between the products if that is fp32.
inline State state_of(const triad_call *call, Room &room, bool between) {
	const bool backward = is_backward(call);
	State s = {};
	s.tokens = call->in[0].shape[0], s.experts = call->in[1].shape[0], s.dim = call->in[0].shape[1], s.hidden = call->in[2].shape[2];
	s.top = static_cast<int32_t>(call->attr[0]), s.normalise = call->attr[1] != 0, s.pairs = s.tokens * s.top;
	s.z = room.take<float>(s.tokens * s.experts), s.dz = room.take<float>(s.tokens * s.experts, backward);
	s.w = room.take<float>(s.pairs), s.d = room.take<float>(s.pairs, backward), s.expert = room.take<int32_t>(s.pairs);
	s.g = room.take<float>(s.pairs * s.hidden, between), s.u = room.take<float>(s.pairs * s.hidden, between);
	s.q = room.take<float>(s.pairs * s.hidden, between && backward), s.part = room.take<float>(s.pairs * s.dim, between);
	s.order = room.take<int64_t>(s.pairs), s.offsets = room.take<int64_t>(s.experts + 1);
	return s;
}

template <class T> Cube<T> cube_of(const triad_tensor &t) { return {static_cast<const T *>(t.data), t.stride[0], t.stride[1], t.stride[2]}; }

// ---- 16-bit elements on tensor cores -----------------------------------------------------------------------------------------------------

// Halves are what mma and sm90_tma have in the workspace besides: in the order of the experts g, u, h, which is q first, and part, of sm90_tma in two
// terms; the rows of x and of dy, of mma times w; where each pair lies; and sums of the router's gradient.
template <class T> struct Halves {
	T *g, *u, *h, *part, *also, *x, *dy;
	int64_t *place;
	float *sums;
};

// through_sorted_kernel: as through_kernel, 16 bytes a load; h is times its weight if Weighted.
template <class T, bool Weighted> __global__ void through_sorted_kernel(State s, Halves<T> m) {
	constexpr int V = vector<T>;
	for (int64_t at = begin() / 32; at < s.pairs; at += step() / 32) {
		const float w = s.w[s.order[at]];
		float d = 0;
		for (int64_t i = at * s.hidden + router_lane<32>() * V; i < (at + 1) * s.hidden; i += 32 * V) {
			float g[V], u[V], q[V];
			load(m.g + i, g), load(m.u + i, u), load(m.h + i, q);
#pragma unroll
			for (int j = 0; j < V; j++) {
				back(g[j], u[j], q[j], w, d);
				if (Weighted) q[j] *= w;
			}
			store(m.g + i, g), store(m.u + i, u), store(m.h + i, q);
		}
		d = warp_reduce(d, Sum());
		if (router_lane<32>() == 0) s.d[s.order[at]] = d;
	}
}

// combine_sorted_kernel: as combine_kernel, 16 bytes a load.
template <class T> __global__ void combine_sorted_kernel(State s, Halves<T> m, const float *w, Rows<const T> router, T *y) {
	constexpr int V = vector<T>;
	for (int64_t i = begin() * V; i < s.tokens * s.dim; i += step() * V) {
		const int64_t t = i / s.dim, c = i % s.dim;
		float sum[V] = {};
		const auto add = [&](float by, const T *from) {
			float v[V];
			load(from, v);
#pragma unroll
			for (int j = 0; j < V; j++) sum[j] += by * v[j];
		};
		for (int64_t p = t * s.top; p < (t + 1) * s.top; p++) {
			add(w ? w[p] : 1.0f, m.part + m.place[p] * s.dim + c);
			if (m.also != nullptr) add(1.0f, m.also + m.place[p] * s.dim + c);
		}
		for (int64_t e = 0; e < s.experts && w == nullptr; e++) add(s.dz[t * s.experts + e], router.row(e) + c);
		store(y + i, sum);
	}
}

// halves_of lays out what tensor cores need besides; Sorted: of products whose operands are all in the experts' order.
template <class T, bool Sorted> Halves<T> halves_of(const triad_call *call, const State &s, Room &room) {
	const bool backward = is_backward(call), apart = backward || Sorted;
	const int64_t in = s.pairs * s.hidden, out = s.pairs * s.dim;
	return {room.take<T>(in, apart), room.take<T>(in, apart), room.take<T>(in), room.take<T>(out), backward && Sorted ? room.take<T>(out) : nullptr,
	        room.take<T>(out, apart), room.take<T>(out, backward), room.take<int64_t>(s.pairs),
	        room.take<float>(split_floats(s.experts, s.dim, s.tokens), backward)};
}

template <class T>
void route_mma(const triad_call *call, const State &s, hopper::PairProducts<T> &products, const triad_tensor &choice, float *weight) {
	const Rows<const T> x(call->in[0]), router(call->in[1]);
	products.fp32({x.data, x.stride, 1}, {router.data, router.stride, 1}, s.z, s.tokens, s.experts, s.dim);
	weigh<32>(s, choice, !is_backward(call), weight, stream_of(call));
}

template <class T> void launch_combine(const triad_call *call, const State &s, const Halves<T> &m, const float *w, T *y) {
	combine_sorted_kernel<<<blocks_for(s.tokens * s.dim / vector<T>, threads), threads, 0, stream_of(call)>>>(
	    s, m, w, Rows<const T>(call->in[1]), y);
}

} // namespace moe
} // namespace triad
#endif
