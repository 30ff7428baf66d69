#include <ATen/ATen.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#include <vector>

template <typename scalar_t>
__device__ __forceinline__ scalar_t silu(const scalar_t x) {
    return (scalar_t)(((float)x) / (1.0f + expf(-(float)x)));
}

template <typename scalar_t>
__global__ void swiglu_forward_kernel(const scalar_t *gate, const scalar_t *up, scalar_t *out, const int64_t n) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        const float g = static_cast<float>(gate[i]);
        out[i] = static_cast<scalar_t>(g / (1.0f + expf(-g)) * static_cast<float>(up[i]));
    }
}

template <typename scalar_t>
__global__ void swiglu_backward_kernel(const scalar_t *grad_out, const scalar_t *gate, const scalar_t *up,
                                       scalar_t *grad_gate, scalar_t *grad_up, const int64_t n) {
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        const float g = static_cast<float>(gate[i]), u = static_cast<float>(up[i]), d = static_cast<float>(grad_out[i]);
        const float s = 1.0f / (1.0f + expf(-g));
        grad_gate[i] = static_cast<scalar_t>(d * u * s * (1.0f + g * (1.0f - s)));
        grad_up[i] = static_cast<scalar_t>(d * g * s);
    }
}

at::Tensor swiglu_forward(const at::Tensor &gate, const at::Tensor &up) {
    TORCH_CHECK(gate.sizes() == up.sizes(), "gate ", gate.sizes(), " and up ", up.sizes());
    const at::cuda::OptionalCUDAGuard guard(device_of(gate));
    auto out = at::empty(gate.sizes(), gate.options());
    const int64_t n = gate.numel();
    if (n == 0) return out;
    const int threads = 256;
    const int blocks = std::min<int64_t>((n + threads - 1) / threads, 4096);
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, gate.scalar_type(), "swiglu_forward", [&] {
        swiglu_forward_kernel<scalar_t><<<blocks, threads, 0, stream>>>(
            gate.data_ptr<scalar_t>(), up.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), n);
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}

std::vector<at::Tensor> swiglu_backward(const at::Tensor &grad_out, const at::Tensor &gate, const at::Tensor &up) {
    auto grad_gate = at::empty_like(gate);
    auto grad_up = at::empty_like(up);
    const int64_t n = gate.numel();
    if (n == 0) return {grad_gate, grad_up};
    const int threads = 256;
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, gate.scalar_type(), "swiglu_backward", ([&] {
        swiglu_backward_kernel<scalar_t><<<(n + threads - 1) / threads, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
            grad_out.data_ptr<scalar_t>(), gate.data_ptr<scalar_t>(), up.data_ptr<scalar_t>(),
            grad_gate.data_ptr<scalar_t>(), grad_up.data_ptr<scalar_t>(), n);
    }));
    return {grad_gate, grad_up};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("forward", &swiglu_forward, "SwiGLU forward");
    m.def("backward", &swiglu_backward, "SwiGLU backward");
}
