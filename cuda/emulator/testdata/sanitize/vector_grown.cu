// The host keeps a pointer to the first element of a vector, and the vector grows: the sizes are read where the vector no longer lies.
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void fill(float *y, int n) {
	if (threadIdx.x < n) y[threadIdx.x] = threadIdx.x;
}

int main() {
	std::vector<int> sizes = {16, 32};
	const int *first = sizes.data();
	sizes.push_back(8);
#ifdef FIXED
	first = sizes.data();
#endif
	float *y, h[32];
	cudaMalloc(&y, sizeof h);
	cudaMemset(y, 0, sizeof h);
	fill<<<1, 32>>>(y, first[1]);   // BUG(address host-use-after-free)
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g\n", h[31]);
	cudaFree(y);
}
