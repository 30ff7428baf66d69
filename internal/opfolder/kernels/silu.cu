// input is x, output is y, N is n
#include <cuda_runtime.h>

__global__ void silu_kernel(const float* input, float* output, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) output[i] = input[i] / (1.0f + expf(-input[i]));
}

extern "C" void solve(const float* input, float* output, int N) {
    if (N == 0) return;
    silu_kernel<<<(N + 255) / 256, 256>>>(input, output, N);
}
