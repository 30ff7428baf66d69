// A tree reduction without the barrier inside its loop.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void reduce(const float *x, float *y, int n) {
	__shared__ float s[256];
	int t = threadIdx.x;
	s[t] = t < n ? x[t] : 0;
	__syncthreads();
	for (int k = 128; k > 0; k /= 2) {
		if (t < k) s[t] += s[t + k];   // BUG(race)
#ifdef FIXED
		__syncthreads();
#endif
	}
	if (t == 0) y[0] = s[0];
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
	reduce<<<1, 256>>>(x, y, n);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
