// The first half by a kernel of its own, the rest by another file's.
#include "clip.cuh"

__global__ void first_half(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n / 2) y[i] = x[i] < 0 ? 0.0f : x[i];
}

void relu(const float *x, float *y, int n) {
	if (n == 0) return;
	first_half<<<(n + 255) / 256, 256>>>(x, y, n);
	clip(x + n / 2, y + n / 2, n - n / 2);
}
