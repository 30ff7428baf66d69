// It defines a constant of CUDA's name for this file alone, which CUDA's headers declare as one of all files.
#include <cuda_runtime.h>

static const int warpSize = 32;

__global__ void softmax(const float *x, float *y, int rows, int cols) {
	const int row = blockIdx.x * blockDim.x / warpSize + threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
	if (row >= rows) return;
	float largest = -INFINITY, sum = 0.0f;
	for (int i = 0; i < cols; i++) largest = fmaxf(largest, x[row * cols + i]);
	for (int i = 0; i < cols; i++) sum += expf(x[row * cols + i] - largest);
	for (int i = lane; i < cols; i += warpSize) y[row * cols + i] = expf(x[row * cols + i] - largest) / sum;
}
