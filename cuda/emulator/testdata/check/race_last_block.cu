// The last block adds the partial sums, and no fence says that they are there.
#include <cstdio>
#include <cuda_runtime.h>

__device__ unsigned int finished;

__global__ void total(const float *x, float *part, float *y, int n) {
	__shared__ bool last;
	if (threadIdx.x == 0) {
		float sum = 0;
		for (int i = blockIdx.x; i < n; i += gridDim.x) sum += x[i];
		part[1 + blockIdx.x] = sum;
#ifdef FIXED
		__threadfence();
#endif
		last = atomicAdd(&finished, 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (last && threadIdx.x == 0) {
		float sum = 0;
		for (int b = 0; b < gridDim.x; b++) sum += part[1 + b];   // BUG(race)
		y[0] = sum;
	}
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
	total<<<8, 32>>>(x, y, y, n);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
