// The halo of a tile is read, and nobody wrote it.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void blur(const float *x, float *y) {
	__shared__ float s[66];
	int t = threadIdx.x;
	s[t + 1] = x[t];
#ifdef FIXED
	if (t == 0) s[0] = s[65] = 0;
#endif
	__syncthreads();
	y[t] = s[t] + s[t + 1] + s[t + 2];   // BUG(uninitialised)
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
	blur<<<1, 64>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
