// An array of new[] is given back by delete.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void twice(float *x) { x[threadIdx.x] *= 2; }

int main() {
	float *h = new float[32], *x;
	for (int i = 0; i < 32; i++) h[i] = i;
	cudaMalloc(&x, 32 * sizeof(float));
	cudaMemcpy(x, h, 32 * sizeof(float), cudaMemcpyHostToDevice);
	twice<<<1, 32>>>(x);
	cudaMemcpy(h, x, 32 * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g\n", h[31]);
	cudaFree(x);
#ifdef FIXED
	delete[] h;
#else
	delete h;   // BUG(address host-bad-free)
#endif
}
