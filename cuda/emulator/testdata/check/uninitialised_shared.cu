// Counters in shared memory start at whatever is there.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void count(const float *x, float *y, int n) {
	__shared__ int bins[7];
	int t = threadIdx.x;
#ifdef FIXED
	if (t < 7) bins[t] = 0;
	__syncthreads();
#endif
	for (int i = t; i < n; i += blockDim.x) atomicAdd(&bins[int(x[i])], 1);   // BUG(uninitialised)
	__syncthreads();
	if (t < 7) y[t] = bins[t];
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
	count<<<1, 128>>>(x, y, n);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
