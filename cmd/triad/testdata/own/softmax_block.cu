#include <cuda_runtime.h>
#include <math.h>
#define BLOCK 256

__global__ void softmax_kernel(const float* __restrict__ input, float* __restrict__ output, int M, int N) {
    __shared__ float s[BLOCK];
    int row = blockIdx.x, tid = threadIdx.x;
    float m = -INFINITY;
    for (int c = tid; c < N; c += BLOCK) m = fmaxf(m, input[row * N + c]);
    s[tid] = m;
    __syncthreads();
    for (int k = BLOCK / 2; k > 0; k >>= 1) {
        if (tid < k) s[tid] = fmaxf(s[tid], s[tid + k]);
        __syncthreads();
    }
    m = s[0];
    __syncthreads();
    float sum = 0;
    for (int c = tid; c < N; c += BLOCK) sum += expf(input[row * N + c] - m);
    s[tid] = sum;
    __syncthreads();
    for (int k = BLOCK / 2; k > 0; k >>= 1) {
        if (tid < k) s[tid] += s[tid + k];
        __syncthreads();
    }
    sum = s[0];
    for (int c = tid; c < N; c += BLOCK) output[row * N + c] = expf(input[row * N + c] - m) / sum;
}

extern "C" void solve(const float* input, float* output, int M, int N) {
    softmax_kernel<<<M, BLOCK>>>(input, output, M, N);
    cudaDeviceSynchronize();
}
