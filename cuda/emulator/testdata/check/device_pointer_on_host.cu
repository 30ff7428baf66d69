// Host code reads the result where the device has it.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float *y) { y[threadIdx.x] = 1; }

int main() {
	float *y, h[32];
	cudaMalloc(&y, sizeof h);
	fill<<<1, 32>>>(y);
#ifdef FIXED
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g\n", h[3]);
#else
	printf("%g\n", y[3]);   // BUG(device-pointer-on-host)
#endif
	cudaFree(y);
}
