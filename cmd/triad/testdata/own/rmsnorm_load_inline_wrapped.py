import torch
from torch.utils.cpp_extension import load_inline

cuda_begin = r'''
#include <torch/extension.h>
#include <c10/cuda/CUDAException.h>
#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
inline unsigned int cdiv(unsigned int a, unsigned int b) { return (a + b - 1) / b; }
'''


def load_cuda(cuda_src, cpp_src, funcs, opt=False, verbose=False):
    """Builds __global__ kernels and gives a module of the functions named."""
    return load_inline(cuda_sources=[cuda_src], cpp_sources=[cpp_src], functions=funcs,
                       extra_cuda_cflags=["-O2"] if opt else [], verbose=verbose, name="inline_ext")


cuda_src = cuda_begin + fr'''
__global__ void rms_norm_kernel(const float *x, const float *w, float *out, int n, int d, float eps) {{
    int row = blockIdx.x * 128 + threadIdx.x;
    if (row >= n) return;
    float total = 0.f;
    for (int i = 0; i < d; i++) {{ total += x[(size_t)row * d + i] * x[(size_t)row * d + i]; }}
    float scale = rsqrtf(total / d + eps);
    for (int i = 0; i < d; i++) {{ out[(size_t)row * d + i] = x[(size_t)row * d + i] * scale * w[i]; }}
}}

torch::Tensor rms_norm(torch::Tensor x, torch::Tensor weight, double eps) {{
    CHECK_CUDA(x);
    int n = x.size(0), d = x.size(1);
    auto out = torch::empty({{n, d}}, x.options());
    if (n == 0) return out;
    rms_norm_kernel<<<cdiv(n, 128), 128>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                                   out.data_ptr<float>(), n, d, eps);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}}
'''

cpp_src = "torch::Tensor rms_norm(torch::Tensor x, torch::Tensor weight, double eps);"
module = load_cuda(cuda_src, cpp_src, ['rms_norm'], opt=True)
