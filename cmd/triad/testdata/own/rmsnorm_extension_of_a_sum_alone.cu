// An extension that adds a residual and gives the normalised sum alone.
#include <torch/extension.h>

__global__ void norm(const float *x, const float *residual, const float *w, float *y, int cols, float eps)
{
    const float *row = x + blockIdx.x * cols, *more = residual + blockIdx.x * cols;
    float sum = 0.0f;
    for (int c = 0; c < cols; ++c) sum += (row[c] + more[c]) * (row[c] + more[c]);
    float factor = rsqrtf(sum / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = (row[c] + more[c]) * factor * w[c];
}

torch::Tensor fused_residual_rmsnorm(torch::Tensor x, torch::Tensor residual, torch::Tensor weight, double eps)
{
    auto whole = x.contiguous(), more = residual.contiguous();
    auto y = torch::empty_like(whole);
    norm<<<x.size(0), 128>>>(whole.data_ptr<float>(), more.data_ptr<float>(), weight.data_ptr<float>(),
                             y.data_ptr<float>(), x.size(1), static_cast<float>(eps));
    return y;
}
