// A matrix is transposed in place, and both elements of a pair are written by two threads.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void transpose(float *x, float *y, int n) {
	int i = threadIdx.x, j = threadIdx.y;
#ifdef FIXED
	y[j * 16 + i] = x[i * 16 + j];
#else
	x[j * 16 + i] = x[i * 16 + j];   // BUG(race)
#endif
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
	transpose<<<1, dim3(16, 16)>>>(x, y, n);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
