// Every round asks for a new array of the host, and none is given back.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void fill(float *y, float v) { y[threadIdx.x] = v; }

int main() {
	float *y, sum = 0;
	cudaMalloc(&y, 32 * sizeof(float));
	for (int round = 0; round < 3; round++) {
		float *h = static_cast<float *>(malloc(32 * sizeof(float)));   // BUG(address host-leak)
		fill<<<1, 32>>>(y, round);
		cudaMemcpy(h, y, 32 * sizeof(float), cudaMemcpyDeviceToHost);
		sum += h[31];
#ifdef FIXED
		free(h);
#endif
	}
	printf("%g\n", sum);
	cudaFree(y);
}
