#include <cuda_runtime.h>
// As an editor on Windows leaves it: with a mark at its beginning, and lines that end so.
__global__ void plus(const float *a, const float *b, float *c, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		c[i] = a[i] + b[i];
}

extern "C" void solve(const float *A, const float *B, float *C, int N) {
	plus<<<(N + 255) / 256, 256>>>(A, B, C, N);
}
