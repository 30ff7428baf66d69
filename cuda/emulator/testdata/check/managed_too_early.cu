// The host reads managed memory while the kernel may still run.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float *y) { y[threadIdx.x] = 1; }

int main() {
	float *y;
	cudaMallocManaged(&y, 32 * sizeof(float));
	fill<<<1, 32>>>(y);
#ifdef FIXED
	cudaDeviceSynchronize();
#endif
	printf("%g\n", y[3]);   // BUG(not-waited-for)
	cudaFree(y);
}
