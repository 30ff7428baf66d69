// input is x, output is y, N is n
#include <cuda_runtime.h>

__global__ void gelu_kernel(const float* input, float* output, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) output[i] = 0.5f * input[i] * (1.0f + erff(input[i] * 0.70710678118f));
}

extern "C" void solve(const float* input, float* output, int N) {
    if (N == 0) return;
    gelu_kernel<<<(N + 255) / 256, 256>>>(input, output, N);
}
