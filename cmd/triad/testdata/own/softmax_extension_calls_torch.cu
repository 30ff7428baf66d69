#include <torch/extension.h>

__global__ void divide(float *y, const float *sums, int cols) {
    y[blockIdx.x * (size_t)cols + threadIdx.x] /= sums[blockIdx.x];
}

torch::Tensor softmax(torch::Tensor x) {
    auto y = torch::exp(x - std::get<0>(x.max(1, true)));
    auto sums = y.sum(1);
    divide<<<x.size(0), x.size(1)>>>(y.data_ptr<float>(), sums.data_ptr<float>(), x.size(1));
    return y;
}
