// Each thread has an element, and the threads of a block have a row: helpers within helpers add it up.
#include <cuda_runtime.h>

template <int LANES = 32>
__device__ float overLanes(float v) {
	for (int step = LANES / 2; step > 0; step >>= 1) v += __shfl_xor_sync(0xffffffffu, v, step);
	return v;
}

template <int THREADS = 256>
__device__ float overBlock(float v) {
	__shared__ float parts[THREADS / 32];
	v = overLanes<32>(v);
	if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
	__syncthreads();
	v = threadIdx.x % 32 < THREADS / 32 ? parts[threadIdx.x % 32] : 0.0f;
	return overLanes<32>(v);
}

template <int THREADS>
__global__ void rmsnorm(const float *x, const float *weight, float *y, float eps, int rows, int cols) {
	int at = blockIdx.x * blockDim.x + threadIdx.x;
	float v = at < rows * cols ? x[at] : 0.0f;
	float squares = overBlock<THREADS>(v * v);
	if (at < rows * cols) y[at] = v * rsqrtf(squares / cols + eps) * weight[threadIdx.x];
}
