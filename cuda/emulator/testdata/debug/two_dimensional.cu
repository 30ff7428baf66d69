// A tile is turned: each thread of a block of 4 x 8 reads one element and writes another.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void turn(const int *x, int *y) {
	__shared__ int tile[8][4];
	int i = threadIdx.x, j = threadIdx.y;
	tile[j][i] = x[(blockIdx.x * 8 + j) * 4 + i];
	__syncthreads();
	y[(blockIdx.x * 4 + i) * 8 + j] = tile[j][i];
}

int main() {
	int h[96], *x, *y;
	for (int i = 0; i < 96; i++) h[i] = i;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof h);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	turn<<<3, dim3(4, 8)>>>(x, y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%d\n", h[1]);
	cudaFree(x);
	cudaFree(y);
}
