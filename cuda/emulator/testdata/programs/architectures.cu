// A kernel and a function with parts for newer cards alone, as in code that runs on old ones too.
#include <cstdio>

#if __CUDA_ARCH__ >= 700
__device__ int part(int i) { return 3 * i; }
#endif

__host__ __device__ int side() {
#ifdef __CUDA_ARCH__
	return 1;
#else
	return 2;
#endif
}

__global__ void fill(int *x) {
#if __CUDA_ARCH__ >= 700
	x[threadIdx.x] = part(threadIdx.x);
#endif
}

#ifndef __CUDACC__
#error "this is CUDA"
#endif

int main() {
	int h[32], *x;
	cudaMalloc(&x, sizeof h);
	fill<<<1, 32>>>(x);
	cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
	printf(h[31] == 93 && side() == 2 ? "right\n" : "wrong\n");
	cudaFree(x);
}
