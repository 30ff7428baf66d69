// An asynchronous copy whose result is read before the wait for it.
#include <cuda_pipeline.h>
#include <cstdio>

__global__ void take(const float *x, float *y) {
	__shared__ float s[128];
	const int t = threadIdx.x;
	__pipeline_memcpy_async(&s[t], &x[t], sizeof(float));   // BUG(trap)
	__pipeline_commit();
#ifdef FIXED
	__pipeline_wait_prior(0);
#endif
	y[t] = s[t];   // BUG(trap)
}

int main() {
	float h[128] = {}, *x, *y;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof h);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	take<<<1, 128>>>(x, y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g\n", h[0] - h[0]);
	cudaFree(x);
	cudaFree(y);
}
