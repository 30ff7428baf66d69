// Rows of 33 floats do not begin at multiples of eight bytes.
#include <cstdio>
#include <cuda_runtime.h>

#ifdef FIXED
#define PITCH 34
#else
#define PITCH 33
#endif
__global__ void rows(const float *x, float *y) {
	__shared__ float s[8 * PITCH];
	int r = threadIdx.y, c = threadIdx.x;
	s[r * PITCH + 2 * c] = x[r * 32 + 2 * c];
	s[r * PITCH + 2 * c + 1] = x[r * 32 + 2 * c + 1];
	__syncthreads();
	float2 v = *reinterpret_cast<float2 *>(&s[r * PITCH + 2 * c]);   // BUG(misaligned)
	y[r * 16 + c] = v.x + v.y;
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
	rows<<<1, dim3(16, 8)>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
