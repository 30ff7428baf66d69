// reduce.cuh: reductions over a warp, a block, or the group of threads that shares a row. Every thread gets the result.
// The order of the operations depends on the number of threads alone, so results are the same in every run.
// A merged type needs a shuffle_xor of its own beside it, found by its argument.
#ifndef TRIAD_REDUCE_CUH
#define TRIAD_REDUCE_CUH
#include <cuda_runtime.h>

namespace triad {

constexpr int warp_size = 32;
constexpr unsigned all_lanes = 0xffffffffu;

struct Sum {
	__device__ float operator()(float a, float b) const { return a + b; }
};

// Max ignores a NaN where there is a number: who needs NaN to show must let it through another way.
struct Max {
	__device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

__device__ inline float shuffle_xor(float v, int lane_mask) { return __shfl_xor_sync(all_lanes, v, lane_mask); }
__device__ inline int shuffle_xor(int v, int lane_mask) { return __shfl_xor_sync(all_lanes, v, lane_mask); }
__device__ inline unsigned long long shuffle_xor(unsigned long long v, int lane_mask) { return __shfl_xor_sync(all_lanes, v, lane_mask); }

// Two sums that are needed together cost one reduction.
struct Two {
	float first, second;
};

struct SumTwo {
	__device__ Two operator()(Two a, Two b) const { return {a.first + b.first, a.second + b.second}; }
};

__device__ inline Two shuffle_xor(Two v, int lane_mask) { return {shuffle_xor(v.first, lane_mask), shuffle_xor(v.second, lane_mask)}; }

// warp_reduce merges the values of each aligned group of Width lanes; all 32 lanes must take part.
template <int Width = warp_size, class V, class Merge> __device__ inline V warp_reduce(V v, Merge merge) {
	static_assert(Width >= 1 && Width <= warp_size && (Width & (Width - 1)) == 0, "a group of lanes is a power of two");
#pragma unroll
	for (int lane_mask = Width / 2; lane_mask > 0; lane_mask /= 2) v = merge(v, shuffle_xor(v, lane_mask));
	return v;
}

// block_reduce_in_turn merges the values of all Threads of the block with one barrier. scratch: Threads/32 values in shared memory that the
// call before did not use; two of them in turn will do.
template <int Threads, class V, class Merge> __device__ inline V block_reduce_in_turn(V v, Merge merge, V *scratch) {
	static_assert(Threads % warp_size == 0, "whole warps only");
	v = warp_reduce(v, merge);
	if (Threads == warp_size) return v;
	if (threadIdx.x % warp_size == 0) scratch[threadIdx.x / warp_size] = v;
	__syncthreads();
	V total = scratch[0];
#pragma unroll
	for (int warp = 1; warp < Threads / warp_size; warp++) total = merge(total, scratch[warp]);
	return total;
}

// block_reduce does the same with a scratch that is free for reuse by the next call.
template <int Threads, class V, class Merge> __device__ inline V block_reduce(V v, Merge merge, V *scratch) {
	if (Threads > warp_size) __syncthreads(); // the reduction before may still be reading scratch
	return block_reduce_in_turn<Threads>(v, merge, scratch);
}

// group_reduce serves kernels in which Group threads share a row: part of a warp with several rows a block, or the whole block.
// scratch: as for block_reduce; not used where Group is at most a warp.
template <int Group, class V, class Merge> __device__ inline V group_reduce(V v, Merge merge, V *scratch) {
	if constexpr (Group <= warp_size) {
		return warp_reduce<Group>(v, merge);
	} else {
		return block_reduce<Group>(v, merge, scratch);
	}
}

template <int Group, class V, class Merge> __device__ inline V group_reduce_in_turn(V v, Merge merge, V *scratch) {
	if constexpr (Group <= warp_size) {
		return warp_reduce<Group>(v, merge);
	} else {
		return block_reduce_in_turn<Group>(v, merge, scratch);
	}
}

// sum_of_later is, for each thread of the block, the sum of what the later threads have. scratch: Threads/32 values in shared memory.
template <int Threads> __device__ inline int sum_of_later(int own, int *scratch) {
	const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
	int sum = own; // of this lane and the later ones
#pragma unroll
	for (int step = 1; step < warp_size; step *= 2) {
		const int other = __shfl_down_sync(all_lanes, sum, step);
		if (lane + step < warp_size) sum += other;
	}
	if (lane == 0) scratch[warp] = sum;
	__syncthreads();
	for (int w = warp + 1; w < Threads / warp_size; w++) sum += scratch[w];
	__syncthreads(); // scratch is free again
	return sum - own;
}

} // namespace triad
#endif
