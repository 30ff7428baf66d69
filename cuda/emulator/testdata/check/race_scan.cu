// A scan in one buffer: one barrier a step is one too few.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void scan(const float *x, float *y) {
	__shared__ float s[128];
	int t = threadIdx.x;
	s[t] = x[t];
	__syncthreads();
	for (int k = 1; k < 128; k *= 2) {
		float v = t >= k ? s[t - k] : 0;
#ifdef FIXED
		__syncthreads();
#endif
		s[t] += v;   // BUG(race)
		__syncthreads();
	}
	y[t] = s[t];
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
	scan<<<1, 128>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
