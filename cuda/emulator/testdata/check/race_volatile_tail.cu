// The tail of a sum as courses before Volta had it: the last warp without barriers, by a volatile pointer.
#include <cstdio>
#include <cuda_runtime.h>

#ifdef FIXED
__device__ void last_warp(int *s, int t) {
	for (int k = 32; k > 0; k /= 2) {
		int other = s[t + k];
		__syncwarp();
		s[t] += other;
		__syncwarp();
	}
}
#else
__device__ void last_warp(volatile int *s, int t) {
	s[t] += s[t + 32], s[t] += s[t + 16], s[t] += s[t + 8], s[t] += s[t + 4], s[t] += s[t + 2], s[t] += s[t + 1];   // BUG(race)
}
#endif

__global__ void sum(const int *x, int *y, int n) {
	__shared__ int s[128];
	const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
	s[t] = i < n ? x[i] : 0;
	__syncthreads();
	if (t < 64) s[t] += s[t + 64];
	__syncthreads();
	if (t < 32) last_warp(s, t);
	if (t == 0) y[blockIdx.x] = s[0];
}

int main() {
	const int n = 1000, blocks = 8;
	static int h[n];
	for (int i = 0; i < n; i++) h[i] = i % 7;
	int *x, *y;
	cudaMalloc(&x, n * sizeof(int));
	cudaMalloc(&y, blocks * sizeof(int));
	cudaMemcpy(x, h, n * sizeof(int), cudaMemcpyHostToDevice);
	sum<<<blocks, 128>>>(x, y, n);
	cudaMemcpy(h, y, blocks * sizeof(int), cudaMemcpyDeviceToHost);
	int total = 0;
	for (int b = 0; b < blocks; b++) total += h[b];
	printf("%d\n", total);
	cudaFree(x);
	cudaFree(y);
}
