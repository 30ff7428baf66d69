// The address of a __constant__ variable is given where the variable itself belongs: the copy fails, and the factor stays 0.
#include <cstdio>
#include <cuda_runtime.h>

__constant__ float factor;
__constant__ float weights[4];

__global__ void scale(float *y) { y[threadIdx.x] = factor * weights[threadIdx.x % 4]; }

int main() {
	float *y, h[32], by = 3, w[4] = {1, 2, 3, 4};
	cudaMalloc(&y, sizeof h);
	cudaMemcpyToSymbol(weights, w, sizeof w);
#ifdef FIXED
	cudaMemcpyToSymbol(factor, &by, sizeof by);
#else
	cudaMemcpyToSymbol(&factor, &by, sizeof by);   // BUG(pointer-mixup)
#endif
	scale<<<1, 32>>>(y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g\n", h[3]);
	cudaFree(y);
}
