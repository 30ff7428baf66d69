#include <torch/extension.h>

// x: [batch, seq, heads, head_dim], cos and sin: [max_pos, head_dim / 2]
__global__ void rope_fwd(const float* x, const float* cos, const float* sin, float* out, int64_t pairs, int S, int H, int D) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    int half = D / 2, d = i % half;
    int64_t row = i / half;
    int s = row / H % S;
    float a = x[row * D + d], b = x[row * D + d + half];
    float c = cos[s * half + d], n = sin[s * half + d];
    out[row * D + d] = a * c - b * n;
    out[row * D + d + half] = b * c + a * n;
}

torch::Tensor rope_forward(torch::Tensor x, torch::Tensor cos, torch::Tensor sin) {
    TORCH_CHECK(x.dim() == 4, "x must have 4 dims");
    auto out = torch::empty_like(x);
    const int64_t pairs = x.numel() / 2;
    if (pairs == 0) return out;
    rope_fwd<<<(pairs + 255) / 256, 256>>>(x.data_ptr<float>(), cos.data_ptr<float>(), sin.data_ptr<float>(),
                                           out.data_ptr<float>(), pairs, x.size(1), x.size(2), x.size(3));
    return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &rope_forward, "RoPE forward"); }
