#include <torch/extension.h>
__global__ void silu_mul(float* out, const float* input, int d) {
    for (int i = threadIdx.x; i < d; i += blockDim.x) {
        float x = input[blockIdx.x * 2 * d + i], y = input[blockIdx.x * 2 * d + d + i];
        out[blockIdx.x * d + i] = x / (1.f + expf(-x)) * y;
    }
}
void silu_and_mul(torch::Tensor& out, torch::Tensor& input) {
    int d = input.size(-1) / 2;
    int64_t num_tokens = input.numel() / input.size(-1);
    silu_mul<<<num_tokens, std::min(d, 1024)>>>(out.data_ptr<float>(), input.data_ptr<float>(), d);
}
