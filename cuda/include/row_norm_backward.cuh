// row_norm_backward.cuh: the kernels of the backward of a row normalisation that subtracts no mean and has one parameter a column: the gradient of
// what is normalised, and the sums of the parameter's gradient over the rows of each group of threads, which sum_groups_kernel adds up.
//
// Norm is what an operator states:
//   int64_t rows, cols;
//   read<V>(row, c, n, dy, w)          V neighbours from column c on of the normalised values, of dy, and of weight * dy
//   put_gradient<V>(row, c, n, w, m)   writes V neighbours of the gradient; m is the mean of w * n over the row
//   put_sum<V>(group, c, v)            writes the sums of dy * n over the rows of a group, as RowSums<1> does
#ifndef TRIAD_ROW_NORM_BACKWARD_CUH
#define TRIAD_ROW_NORM_BACKWARD_CUH
#include "reduce.cuh"
#include "row_sums.cuh"
#include "rows.cuh"

namespace triad {

// Single elements: Group threads take rows group, group + groups, ...; a thread keeps the sums of dw of its columns, at most Items, in registers all
// the way.
template <class Norm, int Group, int Items> __global__ void __launch_bounds__(group_block<Group>) row_norm_bwd_kernel(Norm b) {
	constexpr int GroupsPerBlock = group_block<Group> / Group;
	static_assert(Group >= 32, "a group without a row leaves the loop, so it must not share a warp");
	__shared__ float scratch[2][group_warps<Group>];
	const int member = threadIdx.x % Group;
	const int64_t group = blockIdx.x * static_cast<int64_t>(GroupsPerBlock) + threadIdx.x / Group;
	float dw[Items][1] = {};
	int turn = 0;
	for (int64_t row = group; row < b.rows; row += gridDim.x * static_cast<int64_t>(GroupsPerBlock), turn ^= 1) {
		float n[Items][1], w[Items][1], mine = 0;
#pragma unroll
		for (int i = 0; i < Items; i++) {
			const int64_t c = member + i * Group;
			if (c >= b.cols) continue;
			float dy[1];
			b.read(row, c, n[i], dy, w[i]);
			dw[i][0] += dy[0] * n[i][0];
			mine += w[i][0] * n[i][0];
		}
		const float mean = group_reduce_in_turn<Group>(mine, Sum(), scratch[turn]) / static_cast<float>(b.cols);
#pragma unroll
		for (int i = 0; i < Items; i++) {
			const int64_t c = member + i * Group;
			if (c < b.cols) b.put_gradient(row, c, n[i], w[i], mean);
		}
	}
#pragma unroll
	for (int i = 0; i < Items; i++) {
		const int64_t c = member + i * Group;
		if (c < b.cols) b.put_sum(group, c, dw[i]);
	}
}

// Rows too long for registers, first half: the gradient of h, a block a row, two reads.
template <class Norm, int V, int Threads> __global__ void __launch_bounds__(Threads) row_norm_bwd_long_rows_kernel(Norm b) {
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
template <class Norm, int V, int Threads> __global__ void __launch_bounds__(Threads) row_norm_bwd_long_sums_kernel(Norm b) {
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

} // namespace triad
#endif
