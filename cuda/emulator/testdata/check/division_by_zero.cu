// A divisor that is zero for the last thread.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void rest(const int *x, int *y) {
	int t = threadIdx.x;
#ifdef FIXED
	y[t] = x[t] ? 100 % x[t] : 0;
#else
	y[t] = 100 % x[t];   // BUG(division-by-zero)
#endif
}

int main() {
	int h[32], *x, *y;
	for (int i = 0; i < 32; i++) h[i] = 31 - i;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof h);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	rest<<<1, 32>>>(x, y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%d\n", h[1]);
	cudaFree(x);
	cudaFree(y);
}
