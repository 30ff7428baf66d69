// Kogge and Stone within one block, as its caller launches it.
#include <cuda_runtime.h>
#include <cstdio>
#define TILE 64

__global__ void scanTile(const float *values, float *sums, int count) {
	__shared__ float part[TILE];
	int at = blockIdx.x * blockDim.x + threadIdx.x;
	part[threadIdx.x] = at < count ? values[at] : 0.0f;
	for (int reach = 1; reach < TILE; reach *= 2) {
		__syncthreads();
		float before = threadIdx.x >= reach ? part[threadIdx.x - reach] : 0.0f;
		__syncthreads();
		part[threadIdx.x] += before;
	}
	if (at < count) sums[at] = part[threadIdx.x];
}

int main() {
	const int count = 50;
	int blocks = 1;
	float *values, *sums;
	cudaMalloc(&values, count * sizeof(float));
	cudaMalloc(&sums, count * sizeof(float));
	scanTile<<<blocks, TILE>>>(values, sums, count);
	cudaDeviceSynchronize();
	printf("done\n");
}
