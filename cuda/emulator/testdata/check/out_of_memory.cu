// The size in bytes is computed wrongly, and nobody asks whether the allocation failed.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (y && i < n) y[i] = 1;
}

int main() {
	const size_t n = 1 << 20;
	float *y = nullptr;
#ifdef FIXED
	cudaMalloc(&y, n * sizeof(float));
#else
	cudaMalloc(&y, n * n * sizeof(float));   // BUG(out-of-memory)
#endif
	fill<<<1, 256>>>(y, 256);
	printf("%d\n", cudaDeviceSynchronize() == cudaSuccess);
	cudaFree(y);
}
