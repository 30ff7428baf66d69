// The only number of an extension is the threads of its blocks, of which the kernel needs a warp.
#include <pybind11/stl.h>
#include <torch/extension.h>

__global__ void add_kernel(const float *x, const float *y, float *z, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x, rest = n / 4 * 4 + i;
	for (int k = 4 * i; k < 4 * i + 4 && 4 * i + 4 <= n; k++) z[k] = x[k] + y[k];
	if (i < 4 && rest < n) z[rest] = x[rest] + y[rest];
}

void add_cuda(const torch::Tensor &x, const torch::Tensor &y, torch::Tensor &z, const int &BLOCK_SIZE) {
	const int n = x.numel(), blocks = (n + 4 * BLOCK_SIZE - 1) / (4 * BLOCK_SIZE);
	add_kernel<<<blocks, BLOCK_SIZE>>>(x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), n);
}
