// The grid's barrier in a kernel that was launched as any other: its blocks need not be there at once.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void count(int *y) {
	cooperative_groups::this_grid().sync();   // BUG(trap)
	if (threadIdx.x == 0) atomicAdd(y, 1);
}

int main() {
	int h = 0, *y;
	cudaMalloc(&y, sizeof(int));
	cudaMemset(y, 0, sizeof(int));
#ifdef FIXED
	void *args[] = {&y};
	cudaLaunchCooperativeKernel(count, dim3(8), dim3(64), args);
#else
	count<<<8, 64>>>(y);
#endif
	cudaMemcpy(&h, y, sizeof(int), cudaMemcpyDeviceToHost);
	printf("%d\n", h);
	cudaFree(y);
}
