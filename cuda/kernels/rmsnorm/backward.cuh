// backward.cuh: the kernels of rmsnorm's backward pass; cuda/kernels/rmsnorm.cu has the formula and launches them. First the rows: the gradient
// of h, and the sums of dw over the rows of each group of threads; then a kernel that adds the groups' sums.
#ifndef TRIAD_RMSNORM_BACKWARD_CUH
#define TRIAD_RMSNORM_BACKWARD_CUH
#include "element.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "sum.cuh"
#include "rows.cuh"

namespace triad {
namespace rmsnorm {

template <class T> struct Backward {
	Rows<const T> x, residual, dy, dh;
	const T *weight;
	const float *rstd;
	T *dx, *dresidual; // either may be unwanted
	float *sums;       // of dw, fp32: [groups, cols], or with shared one row that all groups add to by atomics
	bool shared, add;
	int64_t rows, cols;

	template <int V> __device__ void put_sum(int64_t group, int64_t c, const float (&v)[V]) const {
		if (!shared) return store(sums + group * cols + c, v);
#pragma unroll
		for (int j = 0; j < V; j++) atomicAdd(sums + c + j, v[j]);
	}
	// V neighbours of the gradient of h from normalised values n, weighted upstream w and the mean of their products.
	template <int V> __device__ void put_gradient(int64_t row, int64_t c, const float (&n)[V], const float (&w)[V], float mean) const {
		float v[V], upstream[V] = {};
		if (add) load(dh.row(row) + c, upstream);
#pragma unroll
		for (int j = 0; j < V; j++) v[j] = rstd[row] * (w[j] - n[j] * mean) + upstream[j];
		if (dx != nullptr) store(dx + row * cols + c, v);
		if (add && dresidual != nullptr) store(dresidual + row * cols + c, v);
	}
	// V neighbours of n, of dy and of weight * dy.
	template <int V> __device__ void read(int64_t row, int64_t c, float (&n)[V], float (&upstream)[V], float (&w)[V]) const {
		load_sum(x, residual, add, row, c, n);
		load(dy.row(row) + c, upstream);
		load(weight + c, w);
#pragma unroll
		for (int j = 0; j < V; j++) {
			n[j] *= rstd[row];
			w[j] *= upstream[j];
		}
	}
};

// Group threads take rows group, group + groups, ...; a thread keeps the sums of dw of its columns, at most Items, in registers all the way.
template <class T, int V, int Group, int Items>
__global__ void __launch_bounds__(group_block<Group>) rmsnorm_bwd_kernel(Backward<T> b) {
	constexpr int GroupsPerBlock = group_block<Group> / Group, Packs = Items / V;
	static_assert(Group >= 32, "a group without a row leaves the loop, so it must not share a warp");
	__shared__ float scratch[2][group_warps<Group>];
	const int member = threadIdx.x % Group;
	const int64_t group = blockIdx.x * static_cast<int64_t>(GroupsPerBlock) + threadIdx.x / Group;
	float dw[Packs][V] = {};
	int turn = 0;
	for (int64_t row = group; row < b.rows; row += gridDim.x * static_cast<int64_t>(GroupsPerBlock), turn ^= 1) {
		float n[Packs][V], w[Packs][V], mine = 0;
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			const int64_t c = (member + p * Group) * V;
			if (c >= b.cols) continue;
			float dy[V];
			b.read(row, c, n[p], dy, w[p]);
#pragma unroll
			for (int j = 0; j < V; j++) {
				dw[p][j] += dy[j] * n[p][j];
				mine += w[p][j] * n[p][j];
			}
		}
		const float mean = group_reduce_in_turn<Group>(mine, Sum(), scratch[turn]) / static_cast<float>(b.cols);
#pragma unroll
		for (int p = 0; p < Packs; p++) {
			const int64_t c = (member + p * Group) * V;
			if (c < b.cols) b.put_gradient(row, c, n[p], w[p], mean);
		}
	}
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		const int64_t c = (member + p * Group) * V;
		if (c < b.cols) b.put_sum(group, c, dw[p]);
	}
}

// Rows too long for registers, first half: the gradient of h, a block a row, two reads.
template <class T, int V, int Threads> __global__ void __launch_bounds__(Threads) rmsnorm_bwd_long_rows_kernel(Backward<T> b) {
	__shared__ float scratch[Threads / 32];
	for (int64_t row = blockIdx.x; row < b.rows; row += gridDim.x) {
		float n[V], dy[V], w[V], mine = 0;
		for (int64_t c = threadIdx.x * V; c < b.cols; c += Threads * V) {
			b.read(row, c, n, dy, w);
#pragma unroll
			for (int j = 0; j < V; j++) mine += w[j] * n[j];
		}
		const float mean = block_reduce<Threads>(mine, Sum(), scratch) / static_cast<float>(b.cols);
		for (int64_t c = threadIdx.x * V; c < b.cols; c += Threads * V) {
			b.read(row, c, n, dy, w);
			b.put_gradient(row, c, n, w, mean);
		}
	}
}

// Second half: dw. blockIdx.x chooses the columns, V a thread; blockIdx.y is the group, which takes every gridDim.y-th row.
template <class T, int V, int Threads> __global__ void __launch_bounds__(Threads) rmsnorm_bwd_long_sums_kernel(Backward<T> b) {
	const int64_t c = (blockIdx.x * static_cast<int64_t>(Threads) + threadIdx.x) * V;
	if (c >= b.cols) return;
	float dw[V] = {};
	for (int64_t row = blockIdx.y; row < b.rows; row += gridDim.y) {
		float n[V], dy[V], w[V];
		b.read(row, c, n, dy, w);
#pragma unroll
		for (int j = 0; j < V; j++) dw[j] += dy[j] * n[j];
	}
	b.put_sum(blockIdx.y, c, dw);
}

// Adds the groups' sums of Columns columns in a fixed order: every Lanes-th group by one thread, then the threads of a column one after the other.
template <class T, int Columns, int Lanes>
__global__ void __launch_bounds__(Columns *Lanes) rmsnorm_bwd_finish_kernel(const float *sums, T *dw, int64_t groups, int64_t cols) {
	__shared__ float part[Lanes][Columns];
	const int column = threadIdx.x % Columns, lane = threadIdx.x / Columns;
	const int64_t c = blockIdx.x * static_cast<int64_t>(Columns) + column;
	float mine = 0;
	for (int64_t g = lane; c < cols && g < groups; g += Lanes) mine += sums[g * cols + c];
	part[lane][column] = mine;
	__syncthreads();
	if (lane != 0 || c >= cols) return;
#pragma unroll
	for (int l = 1; l < Lanes; l++) mine += part[l][column];
	dw[c] = from_float<T>(mine);
}

} // namespace rmsnorm
} // namespace triad
#endif
