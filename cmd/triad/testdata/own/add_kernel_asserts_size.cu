// Four at a time: the kernel asserts that the elements divide by 4.
#include <cassert>
#include <cuda_runtime.h>
#define STEP 4

__global__ void addFours(const float *a, const float *b, float *c, int n) {
	assert(n % STEP == 0);
	int i = (blockIdx.x * blockDim.x + threadIdx.x) * STEP;
	for (int k = i; k < i + STEP && i < n; k++) c[k] = a[k] + b[k];
}

void launchAdd(const float *a, const float *b, float *c, int n) {
	addFours<<<(n + 511) / 512, 128>>>(a, b, c, n);
}
