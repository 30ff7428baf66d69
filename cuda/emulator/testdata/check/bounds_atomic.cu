// An atomic on a bin that is not there.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void histogram(const float *x, int *bins, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
	if (i < n && x[i] < 4) atomicAdd(&bins[int(x[i])], 1);
#else
	if (i < n) atomicAdd(&bins[int(x[i])], 1);   // BUG(out-of-bounds)
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
	int *bins;
	cudaMalloc(&bins, 4 * sizeof(int));
	cudaMemset(bins, 0, 4 * sizeof(int));
	histogram<<<4, 256>>>(x, bins, n);
	cudaFree(bins);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
