// Each thread allocates a line for its neighbours, one element too short.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void smooth(const float *x, float *y, int n) {
	int i = threadIdx.x;
#ifdef FIXED
	float *around = (float *)malloc(3 * sizeof(float));
#else
	float *around = (float *)malloc(2 * sizeof(float));
#endif
	if (!around) return;
	for (int k = -1; k <= 1; k++)
		around[k + 1] = i + k >= 0 && i + k < n ? x[i + k] : 0;   // BUG(out-of-bounds)
	y[i] = (around[0] + around[1] + around[2]) / 3;
	free(around);
}

int main() {
	const int n = 64;
	float h[n], *x, *y;
	for (int i = 0; i < n; i++) h[i] = i % 5;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof h);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	smooth<<<1, n>>>(x, y, n);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g\n", h[1]);
	cudaFree(x);
	cudaFree(y);
}
