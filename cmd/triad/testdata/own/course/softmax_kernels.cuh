#pragma once
#include <kernels/reduce.cuh>

__global__ void softmax_kernel(const float *x, float *y, int rows, int cols) {
	const int row = blockIdx.x;
	if (row >= rows) return;
	x += static_cast<size_t>(row) * cols;
	y += static_cast<size_t>(row) * cols;
	float largest = -INFINITY, sum = 0.0f;
	for (int c = threadIdx.x; c < cols; c += blockDim.x) largest = fmaxf(largest, x[c]);
	largest = block_max(largest);
	for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += expf(x[c] - largest);
	sum = block_sum(sum);
	for (int c = threadIdx.x; c < cols; c += blockDim.x) y[c] = expf(x[c] - largest) / sum;
}

void launch_softmax(const float *x, float *y, int rows, int cols) { softmax_kernel<<<rows, 256>>>(x, y, rows, cols); }
