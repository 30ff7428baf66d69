// input is x, output is y, N is n
#include <cuda_runtime.h>

__global__ void partial_sums(const float* input, float* partial, int N) {
    __shared__ float shared[256];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x) sum += input[i];
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) shared[threadIdx.x] += shared[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = shared[0];
}

// input, output are device pointers
extern "C" void solve(const float* input, float* output, int N) {
    const int blocks = 64;
    float* partial;
    cudaMalloc(&partial, blocks * sizeof(float));
    partial_sums<<<blocks, 256>>>(input, partial, N);
    partial_sums<<<1, 256>>>(partial, output, blocks);
    cudaDeviceSynchronize();
    cudaFree(partial);
}
