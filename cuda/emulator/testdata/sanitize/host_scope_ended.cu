// The launch's parameters lie in a block of the host code that has ended.
#include <cstdio>
#include <cuda_runtime.h>

struct Range {
	int first, last;
};

__global__ void fill(float *y, int first, int last) {
	int i = threadIdx.x;
	if (i >= first && i < last) y[i] = 1;
}

int main(int argc, char **) {
	const Range *chosen = nullptr;
#ifdef FIXED
	Range small = {0, 16};
#else
	if (argc > 0)
#endif
	{
#ifndef FIXED
		Range small = {0, 16};
#endif
		chosen = argc > 0 ? &small : nullptr;
	}
	float *y, h[32];
	cudaMalloc(&y, sizeof h);
	cudaMemset(y, 0, sizeof h);
	fill<<<1, 32>>>(y, chosen->first, chosen->last);   // BUG(address host-use-after-free)
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("done\n"); // what y holds is undefined, and differs between orders with some compilers
	cudaFree(y);
}
