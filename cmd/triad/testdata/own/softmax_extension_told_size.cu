#include <torch/extension.h>

// One row: it is told how long it is, and asks no tensor.
__global__ void softmax_kernel(const float* x, float* y, int size) {
    __shared__ float part[256];
    float most = -INFINITY, sum = 0.0f;
    for (int i = 0; i < size; i++) most = fmaxf(most, x[i]);
    for (int i = threadIdx.x; i < size; i += 256) sum += expf(x[i] - most);
    part[threadIdx.x] = sum;
    __syncthreads();
    float total = 0.0f;
    for (int i = 0; i < 256; i++) total += part[i];
    for (int i = threadIdx.x; i < size; i += 256) y[i] = expf(x[i] - most) / total;
}

void softmax(const torch::Tensor& input, torch::Tensor& output, int64_t size) {
    softmax_kernel<<<1, 256>>>(input.data_ptr<float>(), output.data_ptr<float>(), static_cast<int>(size));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("softmax", &softmax); }
