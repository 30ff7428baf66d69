// The launch asks for elements where it should ask for bytes.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void turn(const float *x, float *y) {
	extern __shared__ float s[];
	int t = threadIdx.x;
	s[t] = x[t];   // BUG(out-of-bounds)
	__syncthreads();
	y[t] = s[blockDim.x - 1 - t];
}

#ifdef FIXED
#define BYTES (128 * sizeof(float))
#else
#define BYTES 128
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
	turn<<<1, 128, BYTES>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
