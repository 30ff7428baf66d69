// Four at a time: it says so where the elements do not divide by 4.
#include <cuda_runtime.h>

__global__ void addFours(const float4 *a, const float4 *b, float4 *c, int fours) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < fours) c[i] = make_float4(a[i].x + b[i].x, a[i].y + b[i].y, a[i].z + b[i].z, a[i].w + b[i].w);
}

bool launchAdd(const float *a, const float *b, float *c, int n) {
	if (n % 4 != 0) return false;
	int fours = n / 4;
	addFours<<<(fours + 127) / 128, 128>>>((const float4 *)a, (const float4 *)b, (float4 *)c, fours);
	return true;
}
