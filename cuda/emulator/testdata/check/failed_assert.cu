// An assert in a kernel does not hold for one thread.
#include <cstdio>
#include <cuda_runtime.h>

#include <cassert>

__global__ void roots(const float *x, float *y) {
	int t = threadIdx.x;
#ifdef FIXED
	assert(x[t] >= 0);
#else
	assert(x[t] > 0);   // BUG(assert)
#endif
	y[t] = sqrtf(x[t]);
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
	roots<<<1, 32>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
