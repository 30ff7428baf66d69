// An extension for square matrices: it makes the product like a.
#include <torch/extension.h>

__global__ void product(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) return;
    float sum = 0.0f;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

std::vector<at::Tensor> matmul_forward(const at::Tensor &a, const at::Tensor &b)
{
    int n = a.size(0);
    auto c = at::empty_like(a);
    dim3 threads(16, 16), blocks((n + 15) / 16, (n + 15) / 16);
    product<<<blocks, threads>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
    return {c};
}
