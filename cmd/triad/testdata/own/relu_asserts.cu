// The host asks for a multiple of 4 by an assert; one in the kernel holds.
#include <cassert>
#include <cuda_runtime.h>

__global__ void relu(const float4 *x, float4 *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	assert(blockDim.x == 256);
	if (i >= n) return;
	float4 v = x[i];
	y[i] = make_float4(v.x < 0 ? 0 : v.x, v.y < 0 ? 0 : v.y, v.z < 0 ? 0 : v.z, v.w < 0 ? 0 : v.w);
}

extern "C" void solve(const float *x, float *y, int n) {
	assert(n % 4 == 0 && "n must be a multiple of 4");
	if (n == 0) return;
	relu<<<(n / 4 + 255) / 256, 256>>>((const float4 *)x, (float4 *)y, n / 4);
}
