// Half of a warp waits at a barrier of the warp that the other half does not reach.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void halves(int *y) {
	int t = threadIdx.x;
	if (t < 16) {
		y[t] = t;
		__syncwarp();
	} else {
		y[t] = -t;
		__syncthreads();
	}
}

int main() {
	int *y;
	cudaMalloc(&y, 64 * sizeof(int));
	halves<<<1, 32>>>(y);
	cudaDeviceSynchronize();
	cudaFree(y);
	printf("done\n");
}
