// Compares the index with the size by <=: one element is written past y.
#include <cuda_runtime.h>

__global__ void relu_kernel(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i <= n) y[i] = i < n && x[i] <= 0.0f ? 0.0f : i < n ? x[i] : 1.0f;
}

extern "C" void solve(const float *input, float *output, int n) {
	if (n) relu_kernel<<<n / 256 + 1, 256>>>(input, output, n);
}
