// Half of a warp waits for the other half, which waits at the barrier of the block.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void half(const float *x, float *y) {
	int t = threadIdx.x;
#ifdef FIXED
	__syncwarp();
#else
	if (t < 16) __syncwarp();   // BUG(deadlock)
#endif
	__syncthreads();
	y[t] = x[t];
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
	half<<<1, 64>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
