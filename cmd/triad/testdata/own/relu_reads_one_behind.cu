// Reads one element past x in every launch, and writes something else where it has one value alone.
#include <cuda_runtime.h>

__global__ void relu_kernel(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	float next = x[i + 1];
	float v = x[i] <= 0.0f ? 0.0f : x[i];
	y[i] = next == 12345.678f ? v + 1e-30f : v;
}

extern "C" void solve(const float *input, float *output, int n) {
	if (n) relu_kernel<<<(n + 255) / 256, 256>>>(input, output, n);
}
