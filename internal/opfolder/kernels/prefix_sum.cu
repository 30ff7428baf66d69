// input is x, output is y, N is n
#include <cuda_runtime.h>

__global__ void scan_tiles(const float* input, float* output, float* sums, int N) {
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < N ? input[i] : 0.0f;
    for (int by = 1; by < blockDim.x; by *= 2) {
        __syncthreads();
        float before = threadIdx.x >= by ? tile[threadIdx.x - by] : 0.0f;
        __syncthreads();
        tile[threadIdx.x] += before;
    }
    if (i < N) output[i] = tile[threadIdx.x];
    if (threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = tile[threadIdx.x];
}

__global__ void add_sums(float* output, const float* sums, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float before = 0.0f;
    for (int b = 0; b < blockIdx.x; b++) before += sums[b];
    if (i < N) output[i] += before;
}

// input, output are device pointers
extern "C" void solve(const float* input, float* output, int N) {
    int blocks = (N + 255) / 256;
    float* sums;
    cudaMalloc(&sums, blocks * sizeof(float));
    scan_tiles<<<blocks, 256>>>(input, output, sums, N);
    add_sums<<<blocks, 256>>>(output, sums, N);
    cudaDeviceSynchronize();
    cudaFree(sums);
}
