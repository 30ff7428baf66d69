#include <torch/extension.h>
#include <cuda.h>
#include <cuda_runtime.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

__global__ void softmax_kernel(const float *__restrict__ in, float *__restrict__ out, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float m = -INFINITY, s = 0.f;
    for (int c = 0; c < cols; ++c) m = fmaxf(m, in[(size_t)row * cols + c]);
    for (int c = 0; c < cols; ++c) s += expf(in[(size_t)row * cols + c] - m);
    for (int c = 0; c < cols; ++c) out[(size_t)row * cols + c] = expf(in[(size_t)row * cols + c] - m) / s;
}

torch::Tensor softmax_cuda(torch::Tensor x) {
    CHECK_INPUT(x);
    TORCH_CHECK(x.dim() == 2, "expected 2 dims, got ", x.dim());
    int rows = x.size(0), cols = x.size(1);
    auto out = torch::empty_like(x);
    if (rows == 0) return out;
    softmax_kernel<<<(rows + 127) / 128, 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), rows, cols);
    cudaError_t err = cudaGetLastError();
    TORCH_CHECK(err == cudaSuccess, "CUDA error: ", cudaGetErrorString(err));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("softmax", &softmax_cuda, "Row softmax (CUDA)");
}
