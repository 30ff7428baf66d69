// The grid is made of a side of the block.
#include <cuda_runtime.h>

__global__ void vector_add(float *x, float *y, float *z, int n) {
	int i = threadIdx.x + blockIdx.x * blockDim.x;
	if (i < n) z[i] = x[i] + y[i];
}

int main() {
	int N = 1 << 12;
	float *d_x, *d_y, *d_z;
	cudaMalloc(&d_x, N * sizeof(float));
	cudaMalloc(&d_y, N * sizeof(float));
	cudaMalloc(&d_z, N * sizeof(float));
	dim3 blockSize(128, 1);
	dim3 gridSize((N + blockSize.x - 1) / blockSize.x, blockSize.y);
	vector_add<<<gridSize, blockSize>>>(d_x, d_y, d_z, N);
	return cudaDeviceSynchronize();
}
