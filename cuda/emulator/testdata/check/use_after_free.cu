// A kernel uses memory that was given back before.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void scale(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = 2 * x[i];   // BUG(use-after-free)
}

int main() {
	const int n = 256;
	static float h[n];
	float *x, *y;
	cudaMalloc(&x, n * sizeof(float));
	cudaMalloc(&y, n * sizeof(float));
	cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
#ifndef FIXED
	cudaFree(x);
#endif
	scale<<<1, 256>>>(x, y, n);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
#ifdef FIXED
	cudaFree(x);
#endif
	cudaFree(y);
	printf("%g\n", h[3]);
}
