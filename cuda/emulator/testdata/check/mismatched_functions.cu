// Lanes of one warp meet in different warp functions.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void mixed(const float *x, float *y) {
	int t = threadIdx.x;
	float v = x[t];
#ifdef FIXED
	v = __shfl_xor_sync(0xffffffffu, v, 1) + __shfl_down_sync(0xffffffffu, v, 1);
#else
	if (t % 2) v = __shfl_xor_sync(0xffffffffu, v, 1);   // BUG(divergence)
	else v = __shfl_down_sync(0xffffffffu, v, 1);   // BUG(divergence)
#endif
	y[t] = v;
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
	mixed<<<1, 32>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
