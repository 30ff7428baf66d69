// All threads of a block give back what its first one allocated.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void ranks(int *y) {
	__shared__ int *list;
	if (threadIdx.x == 0) list = new int[blockDim.x];
	__syncthreads();
	list[threadIdx.x] = threadIdx.x;
	__syncthreads();
	y[threadIdx.x] = list[blockDim.x - 1 - threadIdx.x];
	__syncthreads();
#ifdef FIXED
	if (threadIdx.x == 0)
#endif
	delete[] list;   // BUG(double-free)
}

int main() {
	int *y, h[64];
	cudaMalloc(&y, sizeof h);
	ranks<<<1, 64>>>(y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%d\n", h[0]);
	cudaFree(y);
}
