// The result is copied into an array of the host that is smaller.
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void fill(float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = i;
}

int main() {
	const int n = 102;
#ifdef FIXED
	std::vector<float> h(n);
#else
	std::vector<float> h(n - 1);
#endif
	float *y;
	cudaMalloc(&y, n * sizeof(float));
	fill<<<1, 128>>>(y, n);
	cudaMemcpy(h.data(), y, n * sizeof(float), cudaMemcpyDeviceToHost);   // BUG(address host-out-of-bounds)
	printf("%g\n", h[100]);
	cudaFree(y);
}
