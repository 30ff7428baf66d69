// Each block writes its sum. No size: whole blocks alone, which main() counts.
#include <cstdio>
#include <cuda_runtime.h>
#define THREADS 128

__global__ void reduce(float *d_input, float *d_output) {
	__shared__ float room[THREADS];
	unsigned int tid = threadIdx.x;
	unsigned int at = blockIdx.x * (blockDim.x * 2) + tid;
	room[tid] = d_input[at] + d_input[at + blockDim.x];
	__syncthreads();
	for (unsigned int half = blockDim.x / 2; half > 0; half >>= 1) {
		if (tid < half) room[tid] += room[tid + half];
		__syncthreads();
	}
	if (tid == 0) d_output[blockIdx.x] = room[0];
}

int main() {
	const int N = 4 * 1024 * 1024;
	float *d_input, *d_output;
	cudaMalloc((void **)&d_input, N * sizeof(float));
	int blocks = N / THREADS / 2;
	cudaMalloc((void **)&d_output, blocks * sizeof(float));
	dim3 Grid(blocks);
	dim3 Block(THREADS);
	reduce<<<Grid, Block>>>(d_input, d_output);
	return cudaDeviceSynchronize();
}
