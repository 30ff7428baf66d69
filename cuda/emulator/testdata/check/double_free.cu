// Memory is given back twice.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float *y) { y[threadIdx.x] = 1; }

int main() {
	float *y;
	cudaMalloc(&y, 1 << 20);
	fill<<<1, 32>>>(y);
	cudaFree(y);
#ifndef FIXED
	cudaFree(y);   // BUG(double-free)
#endif
	printf("done\n");
}
