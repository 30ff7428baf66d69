// More than 48 KB of dynamic shared memory, and the kernel was not prepared for it.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void turn(const float *x, float *y) {
	extern __shared__ float s[];
	s[threadIdx.x] = x[threadIdx.x];
	__syncthreads();
	y[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
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
	#ifdef FIXED
	cudaFuncSetAttribute(turn, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024);
#endif
	turn<<<1, 128, 64 * 1024>>>(x, y);   // BUG(launch-refused)
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
