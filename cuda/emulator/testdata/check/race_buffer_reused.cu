// The buffer of the maximum is used for the sum before all have read the maximum.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void softmax(const float *x, float *y, int n) {
	__shared__ float red[256];
	int t = threadIdx.x;
	red[t] = x[t];
	__syncthreads();
	for (int k = 128; k > 0; k /= 2) {
		if (t < k) red[t] = fmaxf(red[t], red[t + k]);
		__syncthreads();
	}
	float most = red[0];
#ifdef FIXED
	__syncthreads();
#endif
	red[t] = expf(x[t] - most);   // BUG(race)
	__syncthreads();
	for (int k = 128; k > 0; k /= 2) {
		if (t < k) red[t] += red[t + k];
		__syncthreads();
	}
	y[t] = expf(x[t] - most) / red[0];
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
	softmax<<<1, 256>>>(x, y, n);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
