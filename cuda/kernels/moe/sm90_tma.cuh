// sm90_tma.cuh: moe with the products of grouped_gemm/sm90_tma.cuh between rows in the experts' order; see moe.cu.
//   forward    x -> order; g, u = x gate, x up; h = silu(g) u; part = h down; y = sum of w part
//   backward   x, dy -> order; g, u; q = dy down^T; dg, du and w h in their places; dx = sum of dg gate^T + du up^T and the router's; dgate = x^T dg,
//              dup = x^T du, ddown = (w h)^T dy of each expert
// What lies between has 16 bits. Each product is one launch of persistent clusters, the steps between move 2 to 6 bytes an element.
#ifndef TRIAD_MOE_SM90_TMA_CUH
#define TRIAD_MOE_SM90_TMA_CUH
#include "../grouped_gemm/sm90_tma.cuh"
#include "state.cuh"

namespace triad {
namespace moe {

// gated_sorted_kernel makes h of g and u, 16 bytes a load.
template <class T> __global__ void gated_sorted_kernel(State s, Halves<T> m) {
	constexpr int V = vector<T>;
	for (int64_t i = begin() * V; i < s.pairs * s.hidden; i += step() * V) {
		float g[V], u[V];
		load(m.g + i, g), load(m.u + i, u);
#pragma unroll
		for (int j = 0; j < V; j++) g[j] *= sigmoid(g[j]).value * u[j];
		store(m.h + i, g);
	}
}

// TmaProducts launches products of rows that are sorted and contiguous. The first that cannot be launched is the last.
template <class T> class TmaProducts {
	using Product = grouped_gemm::Product<T>;
	const SortedPairs s;
	const cudaStream_t stream;
	int refused = TRIAD_OK;

	void launch(const Product &p, bool along_kb) {
		if (refused == TRIAD_OK) refused = grouped_gemm::launch_groups(p, along_kb, stream);
	}

public:
	TmaProducts(const SortedPairs &pairs, cudaStream_t in) : s(pairs), stream(in) {}
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

template <class T> int forward_tma(const triad_call *call) {
	Room room(call);
	const State s = state_of(call, room, false);
	const Halves<T> m = halves_of<T, true>(call, s, room);
	const Rows<const T> x(call->in[0]);
	hopper::PairProducts<T> router{s.sorted(m.place), stream_of(call)};
	route_mma(call, s, router, call->out[1], static_cast<float *>(call->out[2].data));
	sort_pairs(router.s, router.stream);
	router.sort_rows({x.data, x.stride, s.top}, nullptr, m.x, s.dim);
	TmaProducts<T> products(router.s, router.stream);
	products.by_rows(m.x, cube_of<T>(call->in[2]), m.g, s.hidden, s.dim);
	products.by_rows(m.x, cube_of<T>(call->in[3]), m.u, s.hidden, s.dim);
	gated_sorted_kernel<T><<<blocks_for(s.pairs * s.hidden / vector<T>, threads), threads, 0, router.stream>>>(s, m);
	products.by_rows(m.h, cube_of<T>(call->in[4]), m.part, s.dim, s.hidden);
	launch_combine<T>(call, s, m, s.w, static_cast<T *>(call->out[0].data));
	return products.status() != TRIAD_OK ? products.status() : router.status();
}

template <class T> int backward_tma(const triad_call *call) {
	Room room(call);
	const State s = state_of(call, room, false);
	const Halves<T> m = halves_of<T, true>(call, s, room);
	const Rows<const T> x(call->in[0]), dy(call->in[6]);
	const Cube<T> gate = cube_of<T>(call->in[2]), up = cube_of<T>(call->in[3]), down = cube_of<T>(call->in[4]);
	const auto grad = [&](int i) { return static_cast<T *>(call->out[i].data); };
	hopper::PairProducts<T> router{s.sorted(m.place), stream_of(call)};
	route_mma<T>(call, s, router, call->in[5], nullptr);
	sort_pairs(router.s, router.stream);
	router.sort_rows({x.data, x.stride, s.top}, nullptr, m.x, s.dim);
	router.sort_rows({dy.data, dy.stride, s.top}, nullptr, m.dy, s.dim);
	TmaProducts<T> products(router.s, router.stream);
	products.by_rows(m.x, gate, m.g, s.hidden, s.dim);
	products.by_rows(m.x, up, m.u, s.hidden, s.dim);
	products.by_rows(m.dy, down.turned(), m.h, s.hidden, s.dim);
	through_sorted_kernel<T, true><<<blocks_for(s.pairs * 32, threads), threads, 0, router.stream>>>(s, m);
	scores_kernel<32><<<blocks_for(s.tokens * 32, threads), threads, 0, router.stream>>>(s);
	if (grad(0) != nullptr) {
		products.by_rows(m.g, gate.turned(), m.part, s.dim, s.hidden);
		products.by_rows(m.u, up.turned(), m.also, s.dim, s.hidden);
		launch_combine<T>(call, s, m, nullptr, grad(0));
	}
	if (grad(1) != nullptr)
		split_product<float, T>({{s.dz, 1, s.experts}, {x.data, 1, x.stride}, grad(1), m.sums, s.experts, s.dim, s.tokens}, router.stream);
	if (grad(2) != nullptr) products.by_depth(m.x, m.g, grad(2), s.dim, s.hidden);
	if (grad(3) != nullptr) products.by_depth(m.x, m.u, grad(3), s.dim, s.hidden);
	if (grad(4) != nullptr) products.by_depth(m.h, m.dy, grad(4), s.hidden, s.dim);
	return products.status() != TRIAD_OK ? products.status() : router.status();
}
// The copy engine reads gate, up and down where they lie, and rows of pairs.
inline void check_maps(Check &check, const triad_call *call) {
	const int64_t pairs = call->in[0].shape[0] * static_cast<int64_t>(call->attr[0]);
	check.that(pairs > 0 && pairs <= hopper::ragged_rows, "%lld pairs of token and expert: want 1 to 2^30", static_cast<long long>(pairs));
	grouped_gemm::check_map(check, call->in[2], "gate");
	grouped_gemm::check_map(check, call->in[3], "up");
	grouped_gemm::check_map(check, call->in[4], "down");
}

} // namespace moe
} // namespace triad
#endif
