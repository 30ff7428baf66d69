// A cooperative launch of more blocks than a card holds at once.
#include <cooperative_groups.h>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void count(int *y) {
	cooperative_groups::this_grid().sync();
	if (threadIdx.x == 0) atomicAdd(y, 1);
}

#ifdef FIXED
#define BLOCKS 8
#else
#define BLOCKS 4000
#endif

int main() {
	int h = 0, *y;
	cudaMalloc(&y, sizeof(int));
	cudaMemset(y, 0, sizeof(int));
	void *args[] = {&y};
	cudaLaunchCooperativeKernel(count, dim3(BLOCKS), dim3(256), args);   // BUG(launch-refused)
	cudaMemcpy(&h, y, sizeof(int), cudaMemcpyDeviceToHost);
	printf("%d\n", h);
	cudaFree(y);
}
