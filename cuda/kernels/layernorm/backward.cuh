// backward.cuh: the kernels of layernorm's backward pass; cuda/kernels/layernorm.cu has the formula and launches them. First the rows:
// dx, and the sums of dw and db over the rows of each group of threads, which a kernel of row_sums.cuh adds up.
#ifndef TRIAD_LAYERNORM_BACKWARD_CUH
#define TRIAD_LAYERNORM_BACKWARD_CUH
#include "element.cuh"
#include "hopper/finish.cuh"
#include "hopper/row_ring.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "row_sums.cuh"
#include "rows.cuh"

namespace triad {
namespace layernorm {

template <class T> struct Saved {
	Rows<const T> x, dy;
	const T *weight;
	const float *mean, *rstd;
};

__device__ inline float gradient(float weighted, float xhat, Two means, float rstd) {
	return rstd * (weighted - means.first - xhat * means.second);
}

// Single elements, any alignment: Group threads take rows group, group + groups, ...; a thread keeps Items columns of dw and db in registers all
// the way.
template <class T, int Group, int Items>
__global__ void __launch_bounds__(group_block<Group>, 512 / group_block<Group>)
    layernorm_bwd_kernel(Saved<T> in, T *dx, RowSums<2> sums, int64_t rows, int cols) {
	constexpr int GroupsPerBlock = group_block<Group> / Group;
	static_assert(Group >= 32, "a group without a row leaves the loop, so it must not share a warp");
	__shared__ Two scratch[2][group_warps<Group>];
	const int member = threadIdx.x % Group;
	const int64_t group = blockIdx.x * static_cast<int64_t>(GroupsPerBlock) + threadIdx.x / Group;
	const int64_t groups = gridDim.x * static_cast<int64_t>(GroupsPerBlock);
	const float part = 1.0f / static_cast<float>(cols);
	float dw[Items] = {}, db[Items] = {};
	int turn = 0;
	for (int64_t row = group; row < rows; row += groups, turn ^= 1) {
		const float mean = in.mean[row], rstd = in.rstd[row];
		T x[Items], dy[Items];
#pragma unroll
		for (int i = 0; i < Items; i++) {
			const int c = member + i * Group;
			if (c >= cols) continue;
			x[i] = in.x.row(row)[c];
			dy[i] = in.dy.row(row)[c];
		}
		Two mine = {0, 0};
#pragma unroll
		for (int i = 0; i < Items; i++) {
			const int c = member + i * Group;
			if (c >= cols) continue;
			const float xhat = (to_float(x[i]) - mean) * rstd, weighted = to_float(in.weight[c]) * to_float(dy[i]);
			dw[i] += to_float(dy[i]) * xhat;
			db[i] += to_float(dy[i]);
			mine.first += weighted;
			mine.second += weighted * xhat;
		}
		if (dx == nullptr) continue;
		Two means = group_reduce_in_turn<Group>(mine, SumTwo(), scratch[turn]);
		means = {means.first * part, means.second * part};
#pragma unroll
		for (int i = 0; i < Items; i++) {
			const int c = member + i * Group;
			if (c < cols)
				dx[row * cols + c] = from_float<T>(gradient(to_float(in.weight[c]) * to_float(dy[i]), (to_float(x[i]) - mean) * rstd, means, rstd));
		}
	}
#pragma unroll
	for (int i = 0; i < Items; i++) {
		const int c = member + i * Group;
		if (c >= cols) continue;
		sums.put(group, 0, cols, c, {dw[i]});
		sums.put(group, 1, cols, c, {db[i]});
	}
}

// The statistics of the row of a turn. Zeros where there is none, whose x and dy are zeros too: nothing is added.
struct RowStatistics {
	float mean = 0, rstd = 0;

	template <class Shape, class T> __device__ RowStatistics(const Ring<Shape> &ring, const Saved<T> &in, int turn) {
		if (!ring.has(turn)) return;
		mean = in.mean[ring.row(turn)];
		rstd = in.rstd[ring.row(turn)];
	}
};

// Whole vectors, 16-byte aligned rows: a thread keeps Items columns of dw and db in registers all the way, while the ring brings the rows to come.
// A block adds the sums of its groups before it writes them.
template <class Shape>
__global__ void __launch_bounds__(Shape::Threads, 1)
    layernorm_bwd_ring_kernel(Saved<typename Shape::Element> in, typename Shape::Element *dx, RowSums<2> sums, int64_t rows, int cols) {
	using T = typename Shape::Element;
	constexpr int V = Shape::V, Packs = Shape::Packs, Group = Shape::Group;
	extern __shared__ __align__(128) unsigned char ring_memory[];
	__shared__ float scratch[2][Shape::Groups][2 * Shape::Warps];
	static_assert(sizeof scratch == Shape::scratch_floats * sizeof(float), "shared_bytes counts it");
	const Rows<const T> matrices[] = {in.x, in.dy};
	Ring<Shape> ring(matrices, ring_memory, rows, cols);
#pragma unroll
	for (int s = 0; s < Shape::Stages; s++) ring.ask(s, s);
	RowStatistics next(ring, in, 0);
	const float part = 1.0f / static_cast<float>(cols);
	float found[2][Packs][V] = {}; // of dw and of db
	Raw weight[Packs] = {};
#pragma unroll
	for (int p = 0; p < Packs; p++)
		if (ring.column(p) < cols) weight[p] = *reinterpret_cast<const Raw *>(in.weight + ring.column(p));
	for (int turn = 0; turn < ring.turns; turn++) {
		const int stage = turn % Shape::Stages;
		const RowStatistics now = next;
		next = RowStatistics(ring, in, turn + 1);
		ring.wait();
		float xhat[Packs][V], weighted[Packs][V]; // weighted: weight * dy
		const auto read = [&](int p, float(&dy)[V]) {
			float w[V];
			if (!Shape::KeepRow) hopper::refresh(weight[p]); // or its values are kept from turn to turn, twice the registers
			unpack<T>(weight[p], w);
			unpack<T>(ring.raw(0, stage, p), xhat[p]);
			unpack<T>(ring.raw(1, stage, p), dy);
#pragma unroll
			for (int j = 0; j < V; j++) {
				xhat[p][j] = (xhat[p][j] - now.mean) * now.rstd;
				weighted[p][j] = w[j] * dy[j];
			}
		};
		Two mine = {0, 0};
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			if (ring.column(p) >= cols) continue;
			float dy[V];
			read(p, dy);
#pragma unroll
			for (int j = 0; j < V; j++) {
				found[0][p][j] += dy[j] * xhat[p][j];
				found[1][p][j] += dy[j];
				mine.first += weighted[p][j];
				mine.second += weighted[p][j] * xhat[p][j];
			}
		}
		if (Shape::KeepRow) ring.ask(turn + Shape::Stages, stage);
		if (dx != nullptr) {
			const Two total = group_sum<Group>(mine, scratch[turn % 2][threadIdx.x / Group]);
			const float first = now.rstd * (total.first * part), second = now.rstd * (total.second * part);
#pragma unroll
			for (int p = 0; p < Packs; p++) {
				if (ring.column(p) >= cols || !ring.has(turn)) continue;
				float dy[V];
				if (!Shape::KeepRow) read(p, dy);
#pragma unroll
				for (int j = 0; j < V; j++) dy[j] = now.rstd * weighted[p][j] - first - xhat[p][j] * second;
				store(dx + ring.row(turn) * cols + ring.column(p), dy);
			}
		}
		if (!Shape::KeepRow) ring.ask(turn + Shape::Stages, stage);
	}
	put_sums<Shape>(ring, ring_memory, sums, cols, found);
}

// Rows too long for registers, first half: dx, a block a row, two reads.
template <class T, int V, int Threads>
__global__ void __launch_bounds__(Threads) layernorm_bwd_long_dx_kernel(Saved<T> in, T *dx, int64_t rows, int64_t cols) {
	__shared__ Two scratch[Threads / 32];
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		const float mean = in.mean[row], rstd = in.rstd[row];
		float x[V], dy[V], w[V];
		Two means = {0, 0};
		for (int64_t c = threadIdx.x * V; c < cols; c += Threads * V) {
			load(in.x.row(row) + c, x);
			load(in.dy.row(row) + c, dy);
			load(in.weight + c, w);
#pragma unroll
			for (int j = 0; j < V; j++) {
				means.first += w[j] * dy[j];
				means.second += w[j] * dy[j] * ((x[j] - mean) * rstd);
			}
		}
		means = block_reduce<Threads>(means, SumTwo(), scratch);
		means = {means.first / static_cast<float>(cols), means.second / static_cast<float>(cols)};
		for (int64_t c = threadIdx.x * V; c < cols; c += Threads * V) {
			load(in.x.row(row) + c, x);
			load(in.dy.row(row) + c, dy);
			load(in.weight + c, w);
#pragma unroll
			for (int j = 0; j < V; j++) x[j] = gradient(w[j] * dy[j], (x[j] - mean) * rstd, means, rstd);
			store(dx + row * cols + c, x);
		}
	}
}

// Second half: the sums over rows. blockIdx.x chooses the columns, V a thread; blockIdx.y is the group, which takes every gridDim.y-th row.
template <class T, int V, int Threads>
__global__ void __launch_bounds__(Threads) layernorm_bwd_long_sums_kernel(Saved<T> in, RowSums<2> sums, int64_t rows, int64_t cols) {
	const int64_t c = (blockIdx.x * static_cast<int64_t>(Threads) + threadIdx.x) * V;
	if (c >= cols) return;
	float dw[V] = {}, db[V] = {};
	for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
		const float mean = in.mean[row], rstd = in.rstd[row];
		float x[V], dy[V];
		load(in.x.row(row) + c, x);
		load(in.dy.row(row) + c, dy);
#pragma unroll
		for (int j = 0; j < V; j++) {
			dw[j] += dy[j] * ((x[j] - mean) * rstd);
			db[j] += dy[j];
		}
	}
	sums.put(blockIdx.y, 0, cols, c, dw);
	sums.put(blockIdx.y, 1, cols, c, db);
}

} // namespace layernorm
} // namespace triad
#endif
