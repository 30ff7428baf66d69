// input is x, weight is weight, output is y, B is rows, N is cols, eps is eps
#include <cuda_runtime.h>
#include <math.h>

__global__ void rms_norm(const float* input, const float* weight, float* output, int N, float eps) {
    __shared__ float partial[256];
    const float* row = input + (size_t)blockIdx.x * N;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += blockDim.x) sum += row[i] * row[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    float scale = rsqrtf(partial[0] / N + eps);
    for (int i = threadIdx.x; i < N; i += blockDim.x) output[(size_t)blockIdx.x * N + i] = row[i] * scale * weight[i];
}

// input, weight, output are device pointers (i.e. pointers to memory on the GPU)
extern "C" void solve(const float* input, const float* weight, float* output, int B, int N, float eps) {
    rms_norm<<<B, 256>>>(input, weight, output, N, eps);
    cudaDeviceSynchronize();
}
