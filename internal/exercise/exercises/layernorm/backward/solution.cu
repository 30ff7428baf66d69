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
	float g_sum = 0, gn_sum = 0;
	for (int c = lane; c < cols; c += 32) {
		float n = (x[at + c] - mean[row]) * rstd[row];
		float g = grad_y[at + c] * weight[c];
		g_sum += g;
		gn_sum += g * n;
	}
	g_sum = warp_sum(g_sum);
	gn_sum = warp_sum(gn_sum);
	for (int c = lane; c < cols; c += 32) {
		float n = (x[at + c] - mean[row]) * rstd[row];
		float g = grad_y[at + c] * weight[c];
		grad_x[at + c] = rstd[row] * (g - g_sum / cols - n * gn_sum / cols);
	}
}

// A thread has a column.
__global__ void gradients_of_parameters(const float *x, const float *mean, const float *rstd, const float *grad_y,
                                        float *grad_weight, float *grad_bias, int rows, int cols) {
	int c = blockIdx.x * blockDim.x + threadIdx.x;
	if (c >= cols) return;
	float of_weight = 0, of_bias = 0;
	for (int row = 0; row < rows; row++) {
		float g = grad_y[(long long)row * cols + c];
		of_weight += g * (x[(long long)row * cols + c] - mean[row]) * rstd[row];
		of_bias += g;
	}
	grad_weight[c] = of_weight;
	grad_bias[c] = of_bias;
}

// triad: layernorm(x=x, weight=weight, mean=mean, rstd=rstd, grad_y=grad_y, grad_x=grad_x, grad_weight=grad_weight, grad_bias=grad_bias, rows=rows, cols=cols, pass=backward)
extern "C" void solve(const float *x, const float *weight, const float *mean, const float *rstd, const float *grad_y,
                      float *grad_x, float *grad_weight, float *grad_bias, int rows, int cols) {
	gradient_of_x<<<(rows + 3) / 4, 128>>>(x, weight, mean, rstd, grad_y, grad_x, rows, cols);
	gradients_of_parameters<<<(cols + 127) / 128, 128>>>(x, mean, rstd, grad_y, grad_weight, grad_bias, rows, cols);
}
