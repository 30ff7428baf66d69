// Memory is asked for again and again, and never given back.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float *y) { y[threadIdx.x] = 1; }

int main() {
	for (int i = 0; i < 3; i++) {
		float *y;
		cudaMalloc(&y, 1 << 20);   // BUG(leak)
		fill<<<1, 32>>>(y);
		printf("%d\n", cudaDeviceSynchronize() == cudaSuccess);
#ifdef FIXED
		cudaFree(y);
#endif
	}
}
