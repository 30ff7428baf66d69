// Two branches have a barrier each.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void split(const float *x, float *y) {
	__shared__ float s[64];
	int t = threadIdx.x;
	if (t < 32) {
		s[t] = x[t];
#ifndef FIXED
		__syncthreads();   // OTHER
#endif
	} else {
		s[t] = -x[t];
#ifndef FIXED
		__syncthreads();   // BUG(divergence)
#endif
	}
	__syncthreads();
	y[t] = s[63 - t];
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
	split<<<1, 64>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
