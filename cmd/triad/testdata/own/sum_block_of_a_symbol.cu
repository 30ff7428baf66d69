// The number of threads lies in the device's memory, and main() begins with 0 for it before it copies it.
#include <cuda_runtime.h>

#include <cstdio>

__constant__ int THREADS = 128;

__global__ void sum_of_blocks(const float *x, float *y, const int N) {
	__shared__ float parts[128];
	const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
	parts[t] = i < N ? x[i] : 0.0f;
	__syncthreads();
	for (int half = blockDim.x / 2; half > 0; half /= 2) {
		if (t < half) parts[t] += parts[t + half];
		__syncthreads();
	}
	if (t == 0) y[blockIdx.x] = parts[0];
}

int main() {
	const int N = 1 << 16;
	int block_size = 0;
	cudaMemcpyFromSymbol(&block_size, THREADS, sizeof(int));
	int grid_size = (N + block_size - 1) / block_size;
	float *x, *y;
	cudaMalloc(&x, N * sizeof(float));
	cudaMalloc(&y, grid_size * sizeof(float));
	cudaMemset(x, 0, N * sizeof(float));
	sum_of_blocks<<<grid_size, block_size>>>(x, y, N);
	printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
	cudaFree(x);
	cudaFree(y);
	return 0;
}
