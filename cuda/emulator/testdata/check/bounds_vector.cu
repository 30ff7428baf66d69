// A vector load reaches past the end: the size is no multiple of four.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void twice(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
	if (i >= n / 4) return;
#else
	if (i * 4 >= n) return;
#endif
	float4 v = reinterpret_cast<const float4 *>(x)[i];   // BUG(out-of-bounds)
	reinterpret_cast<float4 *>(y)[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
}

int main() {
	const int n = 1002;
	static float h[n];
	for (int i = 0; i < n; i++) h[i] = i % 7;
	float *x, *y;
	cudaMalloc(&x, n * sizeof(float));
	cudaMalloc(&y, n * sizeof(float));
	cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
	cudaMemset(y, 0, n * sizeof(float));
	twice<<<1, 256>>>(x, y, n);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
