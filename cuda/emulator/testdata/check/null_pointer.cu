// The output was never allocated.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float *y) { y[threadIdx.x] = 1; }   // BUG(null-pointer)

int main() {
	float *y = nullptr;
#ifdef FIXED
	cudaMalloc(&y, 32 * sizeof(float));
#endif
	fill<<<1, 32>>>(y);
	printf("%d\n", cudaDeviceSynchronize() == cudaSuccess);
	cudaFree(y);
}
