// In a launch with clusters a barrier is missing from a sum. The emulator does not watch such a launch.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void sum(const float *x, float *y) {
	__shared__ float s[128];
	int t = threadIdx.x;
	s[t] = x[t];
	__syncthreads();
	for (int k = 64; k > 0; k /= 2) {
		if (t < k) s[t] += s[t + k];   // BUG(thread race)
#ifdef FIXED
		__syncthreads();
#endif
	}
	if (t == 0) y[blockIdx.x] = s[0];
}

int main() {
	float h[128] = {1, 2, 3}, *x, *y;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, 16);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	cudaLaunchConfig_t c = {};
	c.gridDim = 4;
	c.blockDim = 128;
	cudaLaunchAttribute a[1];
	a[0].id = cudaLaunchAttributeClusterDimension;
	a[0].val.clusterDim.x = 2;
	a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1;
	c.attrs = a;
	c.numAttrs = 1;
	cudaLaunchKernelEx(&c, sum, static_cast<const float *>(x), y);
	cudaMemcpy(h, y, 16, cudaMemcpyDeviceToHost);
	cudaFree(x);
	cudaFree(y);
	printf("%g\n", h[0]);
}
