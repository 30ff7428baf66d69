// A tile is overwritten in the next pass of the loop while others still read it.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void sums(const float *x, float *y, int n) {
	__shared__ float tile[64];
	int t = threadIdx.x;
	float sum = 0;
	for (int at = 0; at + 64 <= n; at += 64) {
		tile[t] = x[at + t];   // BUG(race)
		__syncthreads();
		for (int i = 0; i < 64; i++) sum += tile[i];
#ifdef FIXED
		__syncthreads();
#endif
	}
	y[t] = sum;
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
	sums<<<1, 64>>>(x, y, n);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
