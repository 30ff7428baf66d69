// Only lanes with work call the shuffle, with the mask of all.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void sums(const float *x, float *y) {
	int t = threadIdx.x;
	float v = x[t];
#ifdef FIXED
	v += __shfl_down_sync(0xffffffffu, v, 16);
#else
	if (t < 20) v += __shfl_down_sync(0xffffffffu, v, 16);   // BUG(deadlock)
#endif
	__syncthreads();
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
	sums<<<1, 32>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
