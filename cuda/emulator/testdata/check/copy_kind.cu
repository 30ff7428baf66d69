// The kind of a copy says the wrong direction.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float *y) { y[threadIdx.x] = 1; }

int main() {
	float *y, h[32] = {};
	cudaMalloc(&y, sizeof h);
	fill<<<1, 32>>>(y);
#ifdef FIXED
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
#else
	cudaMemcpy(h, y, sizeof h, cudaMemcpyHostToDevice);   // BUG(pointer-mixup)
#endif
	printf("%g\n", h[3]);
	cudaFree(y);
}
