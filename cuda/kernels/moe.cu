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
//   sm90_tma as mma, with the products of grouped_gemm/sm90_tma.cuh. Its copy engine reads rows one behind the other: x and dy are copied in the
//            experts' order, and g, u and both terms of dx are stored. Costs: a GPU of 9.0, and these copies
#include "arguments.cuh"
#include "capability.cuh"
#include "element.cuh"
#include "moe/sm90_tma.cuh"
#include "moe/state.cuh"
#include "register.cuh"
#include "spec/moe.cuh"

namespace {

using namespace triad::moe;
using triad::Cube;
using triad::from_float;
using triad::to_float;

// ---- between the products -----------------------------------------------------------------------------------------------------------------

__global__ void gated_kernel(State s) {
	for (int64_t i = begin(); i < s.pairs * s.hidden; i += step()) s.g[i] = s.g[i] * triad::sigmoid(s.g[i]).value * s.u[i];
}

// through_kernel: a warp a pair.
__global__ void through_kernel(State s) {
	for (int64_t p = begin() / 32; p < s.pairs; p += step() / 32) {
		float d = 0;
		for (int64_t i = p * s.hidden + threadIdx.x % 32; i < (p + 1) * s.hidden; i += 32) back(s.g[i], s.u[i], s.q[i], s.w[p], d);
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

// Gated makes h of the sums with gate and up.
template <class T> struct Gated {
	__device__ static void store(const triad::hopper::MmaSums<T> &sums, T *h, T *) {
		sums.template store_values<4>(h, [&](int i, int j, int e) {
			const float g = sums.sum[i][j][e], u = sums.sum[i][j + 4][e];
			return g * triad::sigmoid(g).value * u;
		});
	}
};

// ---- launchers ----------------------------------------------------------------------------------------------------------------------------

// workspace of products in fp32, or in 16 bits, Sorted: of rows in the experts' order.
template <bool Halved, bool Sorted = false> int64_t workspace(const triad_call *call) {
	triad::Room room(call);
	const State s = state_of(call, room, !Halved);
	if (Halved) halves_of<uint16_t, Sorted>(call, s, room);
	return room.used;
}

// route: the logits; the choice, unless a backward has it; the weights under it.
template <class T> void route(const triad_call *call, const State &s, const triad_tensor &choice, float *weight) {
	const triad::Matrix<const T> x(call->in[0]), router(call->in[1]);
	triad::logits_kernel<<<triad::blocks_for(s.tokens * s.experts, threads), threads, 0, triad::stream_of(call)>>>(s, x, router);
	triad::weigh<1>(s, choice, !is_backward(call), weight, triad::stream_of(call));
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
	const auto grad = [&](int i) { return static_cast<T *>(call->out[i].data); };
	if (s.tokens > 0) route<T>(call, s, call->in[5], nullptr);
	Products::prepare(s, stream); // without tokens every sum is empty
	if (s.tokens > 0) {
		Products::by_rows(s, of_x, gate, s.g, s.hidden, s.dim, false, stream);
		Products::by_rows(s, of_x, up, s.u, s.hidden, s.dim, false, stream);
		Products::by_rows(s, of_dy, down.turned(), s.q, s.hidden, s.dim, false, stream);
		through_kernel<<<triad::blocks_for(s.pairs * 32, threads), threads, 0, stream>>>(s);
		triad::scores_kernel<1><<<triad::blocks_for(s.tokens, threads), threads, 0, stream>>>(s);
	}
	if (grad(0) != nullptr && s.tokens > 0) {
		Products::by_rows(s, dg, gate.turned(), s.part, s.dim, s.hidden, false, stream);
		Products::by_rows(s, du, up.turned(), s.part, s.dim, s.hidden, true, stream);
		combine_kernel<<<triad::blocks_for(s.tokens * s.dim, threads), threads, 0, stream>>>(s, static_cast<const float *>(nullptr), router,
		                                                                                       grad(0));
	}
	if (grad(1) != nullptr) triad::router_gradient_kernel<<<triad::blocks_for(s.experts * s.dim, threads), threads, 0, stream>>>(s, x, grad(1));
	if (grad(2) != nullptr) Products::by_depth(s, of_x, dg, grad(2), s.dim, s.hidden, stream);
	if (grad(3) != nullptr) Products::by_depth(s, of_x, du, grad(3), s.dim, s.hidden, stream);
	if (grad(4) != nullptr) Products::by_depth(s, h, weighted, grad(4), s.hidden, s.dim, stream);
	return triad::launched();
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
		triad::scores_kernel<32><<<triad::blocks_for(s.tokens * 32, threads), threads, 0, products.stream>>>(s);
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

template <class... Name> triad::Limits tma(Name... also) {
	triad::Limits limits = vectors(triad::wgmma_capability(), also...);
	limits.push_back(triad::limit("operands that the copy engine can read: no size 0, at most 2^30 pairs, strides above 0", triad::moe::check_maps));
	return limits;
}

} // namespace

// ---- registration ---------------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(moe, naive, forward, .contract("fp32").dtypes(triad::floats).outputs(7).workspace(workspace<false>).limits(few_pairs).launch(TRIAD_BY_DTYPE(moe_fwd_naive)))
TRIAD_KERNEL(moe, grouped, forward, .contract("fp32").dtypes(triad::floats).outputs(7).workspace(workspace<false>).limits(few_pairs).launch(TRIAD_BY_DTYPE(moe_fwd_grouped)))
TRIAD_KERNEL(moe, naive, backward, .contract("fp32").dtypes(triad::floats).outputs(31).workspace(workspace<false>).limits(few_pairs).launch(TRIAD_BY_DTYPE(moe_bwd_naive)))
TRIAD_KERNEL(moe, grouped, backward, .contract("fp32").dtypes(triad::floats).outputs(31).workspace(workspace<false>).limits(few_pairs).launch(TRIAD_BY_DTYPE(moe_bwd_grouped)))
TRIAD_KERNEL(moe, mma, forward, .asynchronous().contract("stored").dtypes(triad::halves).outputs(7).workspace(workspace<true>).limits(mma()).launch(TRIAD_BY_HALF(moe_fwd_mma)))
TRIAD_KERNEL(moe, mma, backward, .asynchronous().contract("stored").dtypes(triad::halves).outputs(31).workspace(workspace<true>).limits(mma("grad_y")).launch(TRIAD_BY_HALF(moe_bwd_mma)))
TRIAD_KERNEL(moe, sm90_tma, forward, .asynchronous().contract("stored").dtypes(triad::halves).outputs(7).workspace(workspace<true, true>).limits(tma()).launch(TRIAD_BY_HALF(triad::moe::forward_tma)))
TRIAD_KERNEL(moe, sm90_tma, backward, .asynchronous().contract("stored").dtypes(triad::halves).outputs(31).workspace(workspace<true, true>).limits(tma("grad_y")).launch(TRIAD_BY_HALF(triad::moe::backward_tma)))
