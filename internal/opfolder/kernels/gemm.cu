// input_a is a, input_b is b, output_c is y, m is m, n is n, k is k
#include <cuda_runtime.h>

__global__ void matmul(const float* a, const float* b, float* c, size_t m, size_t n, size_t k) {
    size_t row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (size_t i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + col];
    c[row * n + col] = sum;
}

extern "C" void solution(const float* input_a, const float* input_b, float* output_c, size_t m, size_t n, size_t k) {
    dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
    matmul<<<grid, block>>>(input_a, input_b, output_c, m, n, k);
}
