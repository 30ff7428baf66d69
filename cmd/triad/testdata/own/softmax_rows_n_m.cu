#include <math.h>

__global__ void softmax_rows(float* in, float* out, size_t N, size_t M) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= N) return;
    float top = -INFINITY, sum = 0.0f;
    for (size_t k = 0; k < M; ++k) top = fmaxf(top, in[i * M + k]);
    for (size_t k = 0; k < M; ++k) sum += expf(in[i * M + k] - top);
    for (size_t k = 0; k < M; ++k) out[i * M + k] = expf(in[i * M + k] - top) / sum;
}

void softmax_gpu(float* in_data, float* out_data, size_t N, size_t M) {
    softmax_rows<<<(N + 63) / 64, 64>>>(in_data, out_data, N, M);
}
