// A lock is given back without a fence: the next owner may read old values.
#include <cstdio>
#include <cuda_runtime.h>

__device__ int lock;

__global__ void add(float *x, float *y) {
	if (threadIdx.x != 0) return;
	while (atomicCAS(&lock, 0, 1) != 0) {
	}
	y[0] += 1;   // BUG(race)
#ifdef FIXED
	__threadfence();
#endif
	atomicExch(&lock, 0);
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
	add<<<16, 32>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
