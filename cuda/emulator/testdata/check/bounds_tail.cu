// The last block has more threads than there are elements.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void scale(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
	if (i >= n) return;
#endif
	y[i] = 2 * x[i];   // BUG(out-of-bounds)
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
	scale<<<4, 256>>>(x, y, n);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
