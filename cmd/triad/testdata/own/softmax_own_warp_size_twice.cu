// It defines a constant of its own twice.
#include <cuda_runtime.h>

constexpr int lanes = 32;
constexpr int lanes = 32;

__global__ void softmax(const float *x, float *y, int rows, int cols) {
	const int row = blockIdx.x * blockDim.x / lanes + threadIdx.x / lanes, lane = threadIdx.x % lanes;
	if (row >= rows) return;
	float largest = -INFINITY, sum = 0.0f;
	for (int i = 0; i < cols; i++) largest = fmaxf(largest, x[row * cols + i]);
	for (int i = 0; i < cols; i++) sum += expf(x[row * cols + i] - largest);
	for (int i = lane; i < cols; i += lanes) y[row * cols + i] = expf(x[row * cols + i] - largest) / sum;
}
