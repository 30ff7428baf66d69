// segment_sum/warp: rows of different lengths.
#include <cuda_runtime.h>

__global__ void segment_sum(const float *x, const long long *offsets, float *y, int segments) {
	int s = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	int lane = threadIdx.x % 32;
	if (s >= segments) return;
	// TODO: the sum of this warp's segment.
}

// triad: segment_sum(x=x, offsets=offsets, y=y, n=N, segments=segments)
extern "C" void solve(const float *x, const long long *offsets, float *y, int N, int segments) {
	segment_sum<<<(segments + 3) / 4, 128>>>(x, offsets, y, segments);
}
