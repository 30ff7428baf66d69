// A hash is computed with signed numbers, which must not wrap.
#include <cstdio>
#include <cuda_runtime.h>

#ifdef FIXED
using Number = unsigned;
#else
using Number = int;
#endif

__global__ void hashes(Number *y) {
	Number h = 17;
	for (int i = 0; i < 8; i++) h = h * 31 + static_cast<Number>(threadIdx.x);   // BUG(undefined overflow)
	y[threadIdx.x] = h;
}

int main() {
	Number *y, h[32];
	cudaMalloc(&y, sizeof h);
	hashes<<<1, 32>>>(y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%d\n", int(h[31]));
	cudaFree(y);
}
