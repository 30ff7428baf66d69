// One element more than the host's array has is set.
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

__global__ void twice(float *x, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] *= 2;
}

int main() {
	const int n = 101;
	float *h = new float[n], *x;
#ifdef FIXED
	for (int i = 0; i < n; i++) h[i] = i;
#else
	for (int i = 0; i <= n; i++) h[i] = i;   // BUG(address host-out-of-bounds)
#endif
	cudaMalloc(&x, n * sizeof(float));
	cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
	twice<<<1, 128>>>(x, n);
	cudaMemcpy(h, x, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g\n", h[100]);
	cudaFree(x);
	delete[] h;
}
