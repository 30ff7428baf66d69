// A sum goes into memory that nobody set to zero.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void sum(const float *x, float *total, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) atomicAdd(total, x[i]);   // BUG(uninitialised)
}

int main() {
	const int n = 1000;
	static float h[n];
	for (int i = 0; i < n; i++) h[i] = i % 7;
	float *x, *y;
	cudaMalloc(&x, n * sizeof(float));
	cudaMalloc(&y, n * sizeof(float));
	cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
	cudaMemset(y, 0, n * sizeof(float));
	float *total;
	cudaMalloc(&total, sizeof(float));
#ifdef FIXED
	cudaMemset(total, 0, sizeof(float));
#endif
	sum<<<4, 256>>>(x, total, n);
	cudaFree(total);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
