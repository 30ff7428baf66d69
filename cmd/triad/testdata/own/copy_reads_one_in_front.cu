// Adds 0 times the element in front, which the first thread reads before the start of x.
#include <cuda_runtime.h>

__global__ void copy_kernel(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = x[i] + 0.f * x[i - 1];
}

extern "C" void solve(const float *input, float *output, int n) {
	if (n) copy_kernel<<<(n + 255) / 256, 256>>>(input, output, n);
}
