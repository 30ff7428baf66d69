// Two asynchronous copies, each of which reports to a barrier of its own, and a wait for one of the two.
#include <cuda/barrier>
#include <cstdio>

using barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void dot(const float *x, const float *w, float *y) {
	__shared__ float a[128], b[128];
	__shared__ barrier came[2];
	const int t = threadIdx.x;
	if (t < 2) init(&came[t], blockDim.x);
	__syncthreads();
	cuda::memcpy_async(&a[t], &x[t], sizeof(float), came[0]);
	cuda::memcpy_async(&b[t], &w[t], sizeof(float), came[1]);   // BUG(trap)
	came[0].arrive_and_wait();
#ifdef FIXED
	came[1].arrive_and_wait();
#endif
	y[t] = a[t] * b[t];   // BUG(trap)
#ifndef FIXED
	came[1].arrive_and_wait();
#endif
}

int main() {
	float h[128] = {}, *x, *w, *y;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&w, sizeof h);
	cudaMalloc(&y, sizeof h);
	for (int i = 0; i < 128; i++) h[i] = i;
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	cudaMemcpy(w, h, sizeof h, cudaMemcpyHostToDevice);
	dot<<<1, 128>>>(x, w, y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g\n", h[11]);
	cudaFree(x);
	cudaFree(w);
	cudaFree(y);
}
