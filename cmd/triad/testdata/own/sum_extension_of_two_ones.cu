#include <torch/extension.h>

__global__ void add_up(const float *x, float *y, int n) {
    __shared__ double sums[256];
    double sum = 0.0;
    for (int i = threadIdx.x; i < n; i += 256) sum += x[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (int i = 1; i < 256; ++i) sum += sums[i];
    y[0] = sum;
}

torch::Tensor total(torch::Tensor x) {
    auto y = torch::zeros({1, 1}, x.options());
    add_up<<<1, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("total", &total); }
