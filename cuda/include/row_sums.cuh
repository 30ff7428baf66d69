// row_sums.cuh: sums over the rows of a matrix in two stages, for the gradients of what scales and shifts its columns. Groups of threads keep the sums
// of their own rows; a second kernel adds those of the groups, always in the same order.
#ifndef TRIAD_ROW_SUMS_CUH
#define TRIAD_ROW_SUMS_CUH
#include "element.cuh"
#include "pack.cuh"

namespace triad {

// What the groups found, fp32, [groups, Count, cols]: Count sums for each column. With `shared` set all groups add to the same Count rows, by
// atomics, in no order.
template <int Count> struct RowSums {
	float *data;
	bool shared;

	// The sums of V neighbouring columns; which of Count they are.
	template <int V> __device__ void put(int64_t group, int which, int64_t cols, int64_t col, const float (&v)[V]) const {
		float *to = data + (shared ? 0 : group * Count * cols) + which * cols + col;
		if (shared) {
#pragma unroll
			for (int j = 0; j < V; j++) atomicAdd(to + j, v[j]);
		} else {
			store(to, v);
		}
	}
};

// Adds the groups' sums in a fixed order: of the Count * cols columns of a group, those of `first` and then those of `second`, each thread takes V
// side by side. Columns threads stand side by side; every Lanes-th group falls to one of Lanes of them, whose sums the block adds up. Either
// output may be null.
template <class T, int Count, int V, int Columns, int Lanes>
__global__ void __launch_bounds__(Columns *Lanes) sum_groups_kernel(const float *sums, T *first, T *second, int groups, int64_t cols) {
	static_assert(Count == 1 || Count == 2, "first, and second");
	__shared__ __align__(16) float part[Lanes][Columns][V];
	const int column = threadIdx.x % Columns, lane = threadIdx.x / Columns;
	const int64_t c = (blockIdx.x * static_cast<int64_t>(Columns) + column) * V;
	float mine[V] = {};
	if (c < Count * cols) {
#pragma unroll 8
		for (int g = lane; g < groups; g += Lanes) {
			float one[V];
			load(sums + g * Count * cols + c, one);
#pragma unroll
			for (int j = 0; j < V; j++) mine[j] += one[j];
		}
	}
	put_shared(part[lane][column], mine);
	__syncthreads();
	if (threadIdx.x >= Columns * V) return;
	const int64_t own = blockIdx.x * static_cast<int64_t>(Columns * V) + threadIdx.x;
	if (own >= Count * cols) return;
	float total = part[0][threadIdx.x / V][threadIdx.x % V];
#pragma unroll
	for (int l = 1; l < Lanes; l++) total += part[l][threadIdx.x / V][threadIdx.x % V];
	T *to = own < cols ? first : second;
	if (to != nullptr) to[own < cols ? own : own - cols] = from_float<T>(total);
}

} // namespace triad
#endif
