// layernorm/backward: gradients along both axes.
#include <cuda_runtime.h>

__device__ float warp_sum(float v) {
	for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
	return v;
}

// A warp has a row.
__global__ void gradient_of_x(const float *x, const float *weight, const float *mean, const float *rstd,
                              const float *grad_y, float *grad_x, int rows, int cols) {
	int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	int lane = threadIdx.x % 32;
	if (row >= rows) return;
	long long at = (long long)row * cols;
	for (int c = lane; c < cols; c += 32) grad_x[at + c] = 0; // TODO
}

// A thread has a column.
__global__ void gradients_of_parameters(const float *x, const float *mean, const float *rstd, const float *grad_y,
                                        float *grad_weight, float *grad_bias, int rows, int cols) {
	int c = blockIdx.x * blockDim.x + threadIdx.x;
	if (c >= cols) return;
	grad_weight[c] = grad_bias[c] = 0; // TODO
}

// triad: layernorm(x=x, weight=weight, mean=mean, rstd=rstd, grad_y=grad_y, grad_x=grad_x, grad_weight=grad_weight, grad_bias=grad_bias, rows=rows, cols=cols, pass=backward)
extern "C" void solve(const float *x, const float *weight, const float *mean, const float *rstd, const float *grad_y,
                      float *grad_x, float *grad_weight, float *grad_bias, int rows, int cols) {
	gradient_of_x<<<(rows + 3) / 4, 128>>>(x, weight, mean, rstd, grad_y, grad_x, rows, cols);
	gradients_of_parameters<<<(cols + 127) / 128, 128>>>(x, mean, rstd, grad_y, grad_weight, grad_bias, rows, cols);
}
