// A copy to the device is longer than what was allocated there.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void touch(float *x) { x[threadIdx.x] += 1; }

int main() {
	static float h[256];
	float *x;
	cudaMalloc(&x, 128 * sizeof(float));
#ifdef FIXED
	cudaMemcpy(x, h, 128 * sizeof(float), cudaMemcpyHostToDevice);
#else
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);   // BUG(out-of-bounds)
	cudaMemset(x, 0, 128 * sizeof(float));
#endif
	touch<<<1, 128>>>(x);
	cudaMemcpy(h, x, 128 * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g\n", h[5]);
	cudaFree(x);
}
