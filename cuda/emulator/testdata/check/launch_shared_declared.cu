// Dynamic shared memory of less than 48 KiB that is too much beside what the kernel declares. A GPU refuses the launch, and goes on.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void total(const float *x, float *y, int n) {
	__shared__ float declared[64];
	extern __shared__ float kept[];
	for (int i = threadIdx.x; i < n; i += 64) kept[i] = x[i];
	__syncthreads();
	float sum = 0;
	for (int i = 0; i < n / 64; i++) sum += kept[threadIdx.x + 64 * i];
	declared[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x == 0)
		for (int i = 0; i < 64; i++) y[blockIdx.x] += declared[i];
}

int main() {
	const int n = 48 * 1024 / sizeof(float);
	static float h[n];
	for (int i = 0; i < n; i++) h[i] = 1;
	float *x, *y, sums[3] = {};
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof sums);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	cudaMemset(y, 0, sizeof sums);
	total<<<3, 64, sizeof h - sizeof(float) * 64>>>(x, y, n - 64);
#ifndef FIXED
	total<<<3, 64, sizeof h>>>(x, y, n);   // BUG(launch-refused)
	if (cudaGetLastError() != cudaErrorInvalidValue) return 1;
#endif
	cudaFuncSetAttribute(total, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sizeof h));
	total<<<3, 64, sizeof h>>>(x, y, n);
	cudaMemcpy(sums, y, sizeof sums, cudaMemcpyDeviceToHost);
	printf("%g %g of %d\n", sums[0], sums[2], 2 * n - 64);
	cudaFree(x);
	cudaFree(y);
	return sums[0] == 2 * n - 64 && sums[2] == sums[0] ? 0 : 2;
}
