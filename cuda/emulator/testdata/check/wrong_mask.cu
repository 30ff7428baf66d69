// A lane calls a shuffle with a mask that leaves it out.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void pairs(const float *x, float *y) {
	int t = threadIdx.x;
#ifdef FIXED
	y[t] = __shfl_xor_sync(0xffffffffu, x[t], 1);
#else
	y[t] = __shfl_xor_sync(0x0000ffffu, x[t], 1);   // BUG(divergence)
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
	pairs<<<1, 32>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
