// cudaMalloc gets a number of elements, and wants bytes.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(int *x, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] = i;   // BUG(out-of-bounds)
}

int main() {
	const int n = 1000;
	int *x;
#ifdef FIXED
	cudaMalloc(&x, n * sizeof(int));
#else
	cudaMalloc(&x, n);
#endif
	fill<<<4, 256>>>(x, n);
	printf("%d\n", cudaDeviceSynchronize() == cudaSuccess);
	cudaFree(x);
}
