// The filter in constant memory has fewer weights than the loop reads.
#include <cstdio>
#include <cuda_runtime.h>

__constant__ float weights[5];

__global__ void filter(const float *x, float *y, int radius) {
	int t = threadIdx.x + radius;
	float sum = 0;
#ifdef FIXED
	for (int k = 0; k < 2 * radius + 1; k++) sum += weights[k] * x[t + k];
#else
	for (int k = 0; k <= 2 * radius + 1; k++) sum += weights[k] * x[t + k];   // BUG(out-of-bounds)
#endif
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
	float w[5] = {1, 2, 3, 2, 1};
	cudaMemcpyToSymbol(weights, w, sizeof w);
	filter<<<1, 128>>>(x, y, 2);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
