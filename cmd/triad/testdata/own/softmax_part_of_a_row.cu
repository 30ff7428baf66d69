// A vector that one block holds: a longer one is not launched by anybody here.
#include <cuda_runtime.h>

template <int LANES>
__device__ float largestOfLanes(float v) {
	for (int step = LANES / 2; step > 0; step >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, step));
	return v;
}

template <int LANES>
__device__ float sumOfLanes(float v) {
	for (int step = LANES / 2; step > 0; step >>= 1) v += __shfl_xor_sync(0xffffffffu, v, step);
	return v;
}

template <bool SUM>
__device__ float ofBlock(float v, float rest) {
	__shared__ float parts[32];
	v = SUM ? sumOfLanes<32>(v) : largestOfLanes<32>(v);
	__syncthreads();
	if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
	__syncthreads();
	v = threadIdx.x % 32 < blockDim.x / 32 ? parts[threadIdx.x % 32] : rest;
	return SUM ? sumOfLanes<32>(v) : largestOfLanes<32>(v);
}

__global__ void softmax(const float *x, float *y, int n) {
	int at = blockIdx.x * blockDim.x + threadIdx.x;
	float v = at < n ? x[at] : -INFINITY;
	float most = ofBlock<false>(v, -INFINITY);
	float e = at < n ? expf(v - most) : 0.0f;
	float sum = ofBlock<true>(e, 0.0f);
	if (at < n) y[at] = e / sum;
}
