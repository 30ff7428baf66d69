// A shuffle between store and load orders no memory.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void exchange(const float *x, float *y) {
	__shared__ float s[32];
	int t = threadIdx.x;
	s[t] = x[t];
	float other = __shfl_xor_sync(0xffffffffu, x[t], 1);
#ifdef FIXED
	__syncwarp();
#endif
	y[t] = other + s[31 - t];   // BUG(race)
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
	exchange<<<1, 32>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
