// A thread waits for a flag that nobody sets.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void wait(float *y, volatile int *flag) {
	if (threadIdx.x == 0) {
#ifdef FIXED
		*flag = 1;
#endif
		while (*flag == 0) {   // BUG(hang)
		}
	}
	y[threadIdx.x] = 1;
}

int main() {
	const int n = 1000;
	static float h[n];
	for (int i = 0; i < n; i++) h[i] = i % 7;
	float *x, *y;
	cudaMalloc(&x, n * sizeof(float));
	cudaMalloc(&y, n * sizeof(float));
	cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
	cudaMemset(y, 0, n * sizeof(float));
	int *flag;
	cudaMalloc(&flag, sizeof(int));
	cudaMemset(flag, 0, sizeof(int));
	wait<<<1, 32>>>(y, flag);
	cudaFree(flag);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
