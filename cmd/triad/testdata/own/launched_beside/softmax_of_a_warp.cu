// A warp for each row, as the file beside this one launches it. Its lanes keep maxima and sums of their own.
#include <cuda_runtime.h>

__global__ void softmax_of_a_warp(float *C, int M, int N) {
	float *row = C + blockIdx.x * N;
	if (blockIdx.x >= M) return;
	float largest = -1e30f, sum = 0.0f;
	for (int j = threadIdx.x; j < N; j += warpSize) largest = fmaxf(largest, row[j]);
	for (int lanes = 16; lanes > 0; lanes /= 2)
		largest = fmaxf(largest, __shfl_down_sync(0xffffffff, largest, lanes));
	for (int j = threadIdx.x; j < N; j += warpSize) sum += row[j] = expf(row[j] - largest);
	for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(0xffffffff, sum, lanes);
	for (int j = threadIdx.x; j < N; j += warpSize) row[j] /= sum;
}
