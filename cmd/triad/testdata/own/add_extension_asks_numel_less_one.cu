#include <torch/extension.h>

__global__ void add_kernel(int n, const float *x, const float *y, float *z) {
    if (const auto i = blockIdx.x * blockDim.x + threadIdx.x; i < n) z[i] = x[i] + y[i];
}

torch::Tensor add(const torch::Tensor &x, const torch::Tensor &y) {
    const int n = static_cast<int>(torch::numel(x) - 1);
    auto z = torch::empty_like(x);
    add_kernel<<<(n + 511) / 512, 512>>>(n, x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>());
    return z;
}
