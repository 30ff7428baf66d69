// Lanes of one warp exchange through shared memory, and nothing makes them wait.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void swap(const float *x, float *y) {
	__shared__ float s[32];
	int t = threadIdx.x;
	s[t] = x[t];
#ifdef FIXED
	__syncwarp();
#endif
	y[t] = s[t ^ 1];   // BUG(race)
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
	swap<<<1, 32>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
