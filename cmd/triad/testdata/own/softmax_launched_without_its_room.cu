// The file's own launch gives the kernel no dynamic shared memory, which it needs for a number of each thread.
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void softmax_kernel(const float *x, float *y, int rows, int cols) {
	extern __shared__ float part[];
	const float *row = x + (size_t)blockIdx.x * cols;
	float largest = -INFINITY, sum = 0;
	for (int j = threadIdx.x; j < cols; j += blockDim.x) largest = fmaxf(largest, row[j]);
	part[threadIdx.x] = largest;
	__syncthreads();
	for (int t = 0; t < blockDim.x; ++t) largest = fmaxf(largest, part[t]);
	for (int j = 0; j < cols; ++j) sum += expf(row[j] - largest);
	for (int j = threadIdx.x; j < cols; j += blockDim.x) y[(size_t)blockIdx.x * cols + j] = expf(row[j] - largest) / sum;
}

int main(int argc, char **argv) {
	int rows = atoi(argv[1]), cols = atoi(argv[2]);
	float *x, *y;
	cudaMalloc(&x, sizeof(float) * rows * cols);
	cudaMalloc(&y, sizeof(float) * rows * cols);
	cudaMemset(x, 0, sizeof(float) * rows * cols);
	softmax_kernel<<<rows, 128>>>(x, y, rows, cols);
	cudaDeviceSynchronize();
	cudaFree(x);
	cudaFree(y);
}
