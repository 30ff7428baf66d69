// cudaFree gets what malloc gave.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float *y) { y[threadIdx.x] = 1; }

#include <cstdlib>

int main() {
	float *y, *h = static_cast<float *>(malloc(128));
	cudaMalloc(&y, 128);
	fill<<<1, 32>>>(y);
	cudaMemcpy(h, y, 128, cudaMemcpyDeviceToHost);
	printf("%g\n", h[0]);
	cudaFree(y);
#ifdef FIXED
	free(h);
#else
	cudaFree(h);   // BUG(bad-free)
#endif
}
