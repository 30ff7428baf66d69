// Dynamic shared memory has no room for the halo.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void blur(const float *x, float *y) {
	extern __shared__ float s[];
	int t = threadIdx.x;
	s[t] = x[t];
	if (t == 0) s[blockDim.x] = x[blockDim.x];   // BUG(out-of-bounds)
	__syncthreads();
	y[t] = s[t] + s[t + 1];
}

#ifdef FIXED
#define COUNT 129
#else
#define COUNT 128
#endif

int main() {
	const int n = 1000;
	static float h[n];
	for (int i = 0; i < n; i++) h[i] = i % 7;
	float *x, *y;
	cudaMalloc(&x, n * sizeof(float));
	cudaMalloc(&y, n * sizeof(float));
	cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
	cudaMemset(y, 0, n * sizeof(float));
	blur<<<1, 128, COUNT * sizeof(float)>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
