// Two warps hand numbers over through one place, whose flag is atomic.
#include <cstdio>
#include <cuda_runtime.h>

#ifdef FIXED
#define FENCE() __threadfence_block()
#else
#define FENCE()
#endif

__global__ void pass(const int *x, int *y, int n) {
	__shared__ int place, full;
	if (threadIdx.x == 0) full = 0;
	__syncthreads();
	for (int i = 0; i < n && threadIdx.x == 0; i++) {
		while (atomicAdd(&full, 0) == 1) {}
		FENCE();
		place = x[i];
		FENCE();
		atomicExch(&full, 1);
	}
	for (int i = 0; i < n && threadIdx.x == 32; i++) {
		while (atomicAdd(&full, 0) == 0) {}
		FENCE();
		y[i] = 2 * place;   // BUG(race)
		FENCE();
		atomicExch(&full, 0);
	}
}

int main() {
	int h[8] = {1, 2, 3, 4, 5, 6, 7, 8}, *x, *y;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof h);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	pass<<<1, 64>>>(x, y, 8);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%d %d\n", h[0], h[7]);
	cudaFree(x);
	cudaFree(y);
}
