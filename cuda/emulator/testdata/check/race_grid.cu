// A cooperative kernel reads what another block writes, with a barrier for its own block alone in between.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

__global__ void turn(float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] = i;
#ifdef FIXED
	cg::this_grid().sync();
#else
	cg::this_thread_block().sync();
#endif
	if (i < n) y[i] = x[n - 1 - i];   // BUG(race)
}

int main() {
	int n = 1000;
	static float h[1000];
	float *x, *y;
	cudaMalloc(&x, n * sizeof(float));
	cudaMalloc(&y, n * sizeof(float));
	cudaMemset(x, 0, n * sizeof(float));
	void *args[] = {&x, &y, &n};
	cudaLaunchCooperativeKernel((void *)turn, dim3(4), dim3(256), args);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g\n", h[0] - h[0]);
	cudaFree(x);
	cudaFree(y);
}
