// The kernel asserts something of the numbers: that is no size that it is not written for.
#include <cassert>
#include <cuda_runtime.h>

__global__ void addChecked(const float *a, const float *b, float *c, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	assert(a[i] < 0.5f);
	c[i] = a[i] + b[i];
}

void launchAdd(const float *a, const float *b, float *c, int n) {
	addChecked<<<(n + 127) / 128, 128>>>(a, b, c, n);
}
