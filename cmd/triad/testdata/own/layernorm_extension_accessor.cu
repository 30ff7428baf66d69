#include <torch/types.h>

template <typename scalar_t>
__global__ void layernorm_kernel(const torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> x,
                                 const torch::PackedTensorAccessor32<scalar_t, 1, torch::RestrictPtrTraits> gamma,
                                 const torch::PackedTensorAccessor32<scalar_t, 1, torch::RestrictPtrTraits> beta,
                                 torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> y, float eps) {
    __shared__ float total[256];
    const int row = blockIdx.x, cols = x.size(1);
    float sum = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += x[row][c];
    total[threadIdx.x] = sum;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step) total[threadIdx.x] += total[threadIdx.x + step];
        __syncthreads();
    }
    const float mean = total[0] / cols;
    __syncthreads();
    float squares = 0.f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) squares += (x[row][c] - mean) * (x[row][c] - mean);
    total[threadIdx.x] = squares;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step) total[threadIdx.x] += total[threadIdx.x + step];
        __syncthreads();
    }
    const float rstd = rsqrtf(total[0] / cols + eps);
    for (int c = threadIdx.x; c < cols; c += blockDim.x) y[row][c] = (x[row][c] - mean) * rstd * gamma[c] + beta[c];
}

torch::Tensor layer_norm(torch::Tensor input, torch::Tensor gamma, torch::Tensor beta, double eps = 1e-5) {
    auto output = torch::zeros_like(input);
    const int rows = input.size(0);
    if (rows > 0) {
        AT_DISPATCH_FLOATING_TYPES(input.type(), "layer_norm", ([&] {
            layernorm_kernel<scalar_t><<<rows, 256>>>(
                input.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(),
                gamma.packed_accessor32<scalar_t, 1, torch::RestrictPtrTraits>(),
                beta.packed_accessor32<scalar_t, 1, torch::RestrictPtrTraits>(),
                output.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>(), eps);
        }));
    }
    return output;
}
