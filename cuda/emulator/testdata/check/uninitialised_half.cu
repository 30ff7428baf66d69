// cudaMemset gets a number of elements, so three quarters keep what they were.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void add(float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] += 1;   // BUG(uninitialised)
}

int main() {
	const int n = 1000;
	float *y, h[n];
	cudaMalloc(&y, n * sizeof(float));
#ifdef FIXED
	cudaMemset(y, 0, n * sizeof(float));
#else
	cudaMemset(y, 0, n);
#endif
	add<<<4, 256>>>(y, n);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g\n", h[0]);
	cudaFree(y);
}
