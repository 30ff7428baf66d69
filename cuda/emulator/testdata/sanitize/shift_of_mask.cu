// The mask of the first n lanes is made by a shift, which with 32 lanes is by all bits that there are.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void masks(unsigned *y) {
	unsigned n = threadIdx.x + 1;
#ifdef FIXED
	y[threadIdx.x] = n == 32 ? 0xffffffffu : (1u << n) - 1;
#else
	y[threadIdx.x] = (1u << n) - 1;   // BUG(undefined shift)
#endif
}

int main() {
	unsigned *y, h[32];
	cudaMalloc(&y, sizeof h);
	masks<<<1, 32>>>(y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%x\n", h[30]);
	cudaFree(y);
}
