#include <cstdio>
#include <cuda_runtime.h>

// Threads count the same bin at the same time.
__global__ void histogram(const int *values, int *bins, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		bins[values[i]] += 1;
	}
}

int main() {
	const int n = 512, kinds = 8;
	int host[512], counted[8];
	for (int i = 0; i < n; i++) {
		host[i] = i % kinds;
	}
	int *values, *bins;
	cudaMalloc(&values, sizeof host);
	cudaMalloc(&bins, sizeof counted);
	cudaMemcpy(values, host, sizeof host, cudaMemcpyHostToDevice);
	cudaMemset(bins, 0, sizeof counted);
	histogram<<<(n + 127) / 128, 128>>>(values, bins, n);
	cudaMemcpy(counted, bins, sizeof counted, cudaMemcpyDeviceToHost);
	printf("bin 0 has %d\n", counted[0]);
	cudaFree(values);
	cudaFree(bins);
}
