// Blocks without work leave the kernel before the grid's barrier, where the others wait for them.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__global__ void halves(const float *x, float *y, float *z, int n) {
	cg::grid_group grid = cg::this_grid();
	int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
	if (i < n) y[i] = x[i] / 2;
#else
	if (i >= n) return;
	y[i] = x[i] / 2;
#endif
	grid.sync();   // BUG(deadlock)
	if (i < n) z[i] = y[n - 1 - i];
}

int main() {
	int n = 1000;
	static float h[1000];
	for (int i = 0; i < n; i++) h[i] = i % 7;
	float *x, *y, *z;
	cudaMalloc(&x, n * sizeof(float));
	cudaMalloc(&y, n * sizeof(float));
	cudaMalloc(&z, n * sizeof(float));
	cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
	cudaMemset(z, 0, n * sizeof(float));
	void *args[] = {&x, &y, &z, &n};
	cudaLaunchCooperativeKernel((void *)halves, dim3(5), dim3(256), args);
	cudaMemcpy(h, z, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
	cudaFree(z);
}
