// The last thread writes one past a shared array.
#include <cstdio>
#include <cuda_runtime.h>

#ifdef FIXED
#define ROOM 129
#else
#define ROOM 128
#endif
__global__ void shift(const float *x, float *y) {
	__shared__ float s[ROOM];
	int t = threadIdx.x;
	if (t == 0) s[0] = 0;
	s[t + 1] = x[t];   // BUG(out-of-bounds)
	__syncthreads();
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
	shift<<<1, 128>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
