// A value of each block, of as many elements as main() has: wrong where the last block is not whole.
#include <cuda_runtime.h>
#define THREADS 128

__global__ void sumBlocks(float *d_in, float *d_out) {
	__shared__ float part[THREADS];
	part[threadIdx.x] = d_in[blockIdx.x * blockDim.x + threadIdx.x];
	__syncthreads();
	for (int half = blockDim.x / 2; half > 0; half /= 2) {
		if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0) d_out[blockIdx.x] = part[0];
}

int main() {
	const int n = 64 * THREADS;
	float *d_in, *d_out;
	cudaMalloc(&d_in, n * sizeof(float));
	cudaMalloc(&d_out, n / THREADS * sizeof(float));
	sumBlocks<<<n / THREADS, THREADS>>>(d_in, d_out);
	cudaDeviceSynchronize();
}
