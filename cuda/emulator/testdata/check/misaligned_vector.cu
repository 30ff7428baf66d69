// A vector is loaded from an address that is no multiple of its size.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void shifted(const float *x, float *y) {
#ifdef FIXED
	const float *from = x + 4;
#else
	const float *from = x + 1;
#endif
	float4 v = reinterpret_cast<const float4 *>(from)[threadIdx.x];   // BUG(misaligned)
	y[threadIdx.x] = v.x + v.y + v.z + v.w;
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
	shifted<<<1, 32>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
