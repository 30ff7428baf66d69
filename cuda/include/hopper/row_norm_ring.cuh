// row_norm_ring.cuh: the backward of row_norm_backward.cuh for whole vectors and 16-byte aligned rows. The rows to come are on their way into shared
// memory while a thread keeps its columns of dw in registers all the way, and a block adds the sums of its groups before it writes them.
//
// Norm is what an operator states:
//   Rows<const T> x, dy, residual, dh;  with Add, x + residual is what is normalised, and dh its own gradient
//   bool add; const T *weight; const float *rstd; float *sums; bool shared; int64_t rows, cols;
//   put<V>(row, c, v)                   writes V neighbours of the gradient of what is normalised
#ifndef TRIAD_HOPPER_ROW_NORM_RING_CUH
#define TRIAD_HOPPER_ROW_NORM_RING_CUH
#include <algorithm>

#include "hopper/row_ring.cuh"
#include "reduce.cuh"
#include "register.cuh"

namespace triad {

// The matrices of the ring: x and dy, and with Add residual and dh.
template <bool Add> constexpr int norm_matrices = Add ? 4 : 2;

// V neighbours of a pack of x, or of x + residual.
template <bool Add, class Shape> __device__ inline void sum_of(const Ring<Shape> &ring, int stage, int pack, float (&h)[Shape::V]) {
	unpack<typename Shape::Element>(ring.raw(0, stage, pack), h);
	if constexpr (Add) {
		float residual[Shape::V];
		unpack<typename Shape::Element>(ring.raw(2, stage, pack), residual);
#pragma unroll
		for (int j = 0; j < Shape::V; j++) h[j] += residual[j];
	}
}

template <class Norm, class Shape, bool Add> __global__ void __launch_bounds__(Shape::Threads, 1) row_norm_bwd_ring_kernel(Norm b) {
	using T = typename Shape::Element;
	constexpr int V = Shape::V, Packs = Shape::Packs, Group = Shape::Group;
	extern __shared__ __align__(128) unsigned char ring_memory[];
	__shared__ float scratch[2][Shape::Groups][Shape::Warps];
	static_assert(sizeof scratch <= Shape::scratch_floats * sizeof(float), "shared_bytes counts it");
	const int cols = static_cast<int>(b.cols);
	const Rows<const T> from[] = {b.x, b.dy, b.residual, b.dh}; // the last two where they are added
	Ring<Shape> ring(from, ring_memory, b.rows, cols);
#pragma unroll
	for (int s = 0; s < Shape::Stages; s++) ring.ask(s, s);
	float next = ring.has(0) ? b.rstd[ring.row(0)] : 0;
	float found[1][Packs][V] = {}; // of dw
	Raw weight[Packs] = {};
#pragma unroll
	for (int p = 0; p < Packs; p++)
		if (ring.column(p) < cols) weight[p] = *reinterpret_cast<const Raw *>(b.weight + ring.column(p));
	for (int turn = 0; turn < ring.turns; turn++) {
		const int stage = turn % Shape::Stages;
		const float rstd = next;
		next = ring.has(turn + 1) ? b.rstd[ring.row(turn + 1)] : 0;
		ring.wait();
		float n[Packs][V], weighted[Packs][V]; // weighted: weight * dy
		Raw upstream[Packs] = {};              // of h
		const auto read = [&](int p, float(&dy)[V]) {
			float w[V];
			if (!Shape::KeepRow) hopper::refresh(weight[p]); // or its values are kept from turn to turn, twice the registers
			unpack<T>(weight[p], w);
			sum_of<Add>(ring, stage, p, n[p]);
			unpack<T>(ring.raw(1, stage, p), dy);
			if constexpr (Add) upstream[p] = ring.raw(3, stage, p);
#pragma unroll
			for (int j = 0; j < V; j++) {
				n[p][j] *= rstd;
				weighted[p][j] = w[j] * dy[j];
			}
		};
		float mine = 0;
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			if (ring.column(p) >= cols) continue;
			float dy[V];
			read(p, dy);
#pragma unroll
			for (int j = 0; j < V; j++) {
				found[0][p][j] += dy[j] * n[p][j];
				mine += weighted[p][j] * n[p][j];
			}
		}
		if (Shape::KeepRow) ring.ask(turn + Shape::Stages, stage);
		const float mean = group_sum<Group>(mine, scratch[turn % 2][threadIdx.x / Group]) / static_cast<float>(cols);
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			if (ring.column(p) >= cols || !ring.has(turn)) continue;
			float dh[V];
			if (!Shape::KeepRow) read(p, dh);
			unpack<T>(upstream[p], dh);
#pragma unroll
			for (int j = 0; j < V; j++) dh[j] += rstd * (weighted[p][j] - n[p][j] * mean);
			b.put(ring.row(turn), ring.column(p), dh);
		}
		if (!Shape::KeepRow) ring.ask(turn + Shape::Stages, stage);
	}
	put_sums<Shape>(ring, ring_memory, RowSums<1>{b.sums, b.shared}, cols, found);
}

// Launches the kernel for these rows, on at most `most` blocks, and gives how many sums it writes; false where no ring holds the rows.
template <class T, class Norm> bool launch_norm_ring(const triad_call *call, const Norm &b, int64_t most, int64_t &groups, int &status) {
	const auto launch = [&](auto shape, auto kernel) {
		using Shape = decltype(shape);
		if (device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) < Shape::shared_bytes) return false; // sm_86 has 99 KB, sm_75 64
		groups = std::min<int64_t>(most, (b.rows + Shape::Groups - 1) / Shape::Groups);
		status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::bytes);
		if (status != TRIAD_OK) return true;
		kernel<<<static_cast<unsigned>(groups), Shape::Threads, Shape::bytes, stream_of(call)>>>(b);
		status = launched();
		return true;
	};
	if (b.add) return by_ring<T, norm_matrices<true>, 1>(b.cols, [&](auto shape) { return launch(shape, row_norm_bwd_ring_kernel<Norm, decltype(shape), true>); });
	return by_ring<T, norm_matrices<false>, 1>(b.cols, [&](auto shape) { return launch(shape, row_norm_bwd_ring_kernel<Norm, decltype(shape), false>); });
}

} // namespace triad
#endif
