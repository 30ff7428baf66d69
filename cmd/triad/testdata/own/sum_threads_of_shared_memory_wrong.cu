// Its caller says how many threads a block has, and each needs a number of shared memory.
#include <algorithm>

__global__ void add_up(float *total, const float *x, unsigned int n) {
	extern __shared__ float part[];
	float sum = 0;
	for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i];
	part[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x % 32 == 0) {
		for (int i = 1; i < 31; i++) sum += part[threadIdx.x + i];
		atomicAdd(total, sum);
	}
}

void reduction(float *total, const float *x, int size, int n_threads) {
	int n_blocks = std::min(64, size / n_threads + 1);
	add_up<<<n_blocks, n_threads, n_threads * sizeof(float)>>>(total, x, size);
}
