// A kernel gets a pointer to host memory.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void scale(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = 2 * x[i];   // BUG(host-pointer)
}

int main() {
	const int n = 256;
	float *h = new float[n](), *x, *y;
	cudaMalloc(&x, n * sizeof(float));
	cudaMalloc(&y, n * sizeof(float));
	cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
#ifdef FIXED
	scale<<<1, n>>>(x, y, n);
#else
	scale<<<1, n>>>(h, y, n);
#endif
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g\n", h[1]);
	cudaFree(x);
	cudaFree(y);
	delete[] h;
}
