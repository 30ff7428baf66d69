// A value of each block, of as many elements as a constant says.
#include <cuda_runtime.h>
#define THREADS 128
#define ELEMENTS 4096

__global__ void sumBlocks(float *d_in, float *d_out) {
	__shared__ float part[THREADS];
	int at = blockIdx.x * blockDim.x + threadIdx.x;
	part[threadIdx.x] = at < ELEMENTS ? d_in[at] : 0.0f;
	__syncthreads();
	for (int half = blockDim.x / 2; half > 0; half /= 2) {
		if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0) d_out[blockIdx.x] = part[0];
}

int main() {
	float *d_in, *d_out;
	cudaMalloc(&d_in, ELEMENTS * sizeof(float));
	cudaMalloc(&d_out, ELEMENTS / THREADS * sizeof(float));
	sumBlocks<<<ELEMENTS / THREADS, THREADS>>>(d_in, d_out);
	cudaDeviceSynchronize();
}
