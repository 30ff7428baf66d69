// The assert in the kernel does not hold where cols are odd: it is not written for them.
#include <cassert>
#include <cuda_runtime.h>

__global__ void add(const float *a, const float *b, float *c, int rows, int cols) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	assert(cols % 2 == 0);
	if (i < rows * cols) c[i] = a[i] + b[i];
}

extern "C" void solve(const float *a, const float *b, float *c, int rows, int cols) {
	if (rows * cols) add<<<(rows * cols + 255) / 256, 256>>>(a, b, c, rows, cols);
}
