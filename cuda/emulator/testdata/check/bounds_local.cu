// An array of one thread is one too short.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void sort4(const float *x, float *y, int n) {
	float a[4];
#ifdef FIXED
	const int count = 4;
#else
	const int count = n / 200;
#endif
	for (int i = 0; i < count; i++) a[i] = x[threadIdx.x * 4 + i];   // BUG(out-of-bounds)
	for (int i = 0; i < 4; i++) y[threadIdx.x * 4 + i] = a[3 - i];
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
	sort4<<<1, 32>>>(x, y, n);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
