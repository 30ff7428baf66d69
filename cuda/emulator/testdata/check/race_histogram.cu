// Bins in shared memory are counted without atomics.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void histogram(const float *x, float *y, int n) {
	__shared__ int bins[8];
	int t = threadIdx.x;
	if (t < 8) bins[t] = 0;
	__syncthreads();
	for (int i = t; i < n; i += blockDim.x) {
#ifdef FIXED
		atomicAdd(&bins[int(x[i])], 1);
#else
		bins[int(x[i])]++;   // BUG(race)
#endif
	}
	__syncthreads();
	if (t < 8) y[t] = bins[t];
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
	histogram<<<1, 128>>>(x, y, n);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
