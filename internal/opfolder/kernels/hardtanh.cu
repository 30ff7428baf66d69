// input is x, output is y, N is n, min_val is low, max_val is high
#include <cuda_runtime.h>

__global__ void hardtanh_kernel(const float* input, float* output, int N, float min_val, float max_val) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) output[i] = input[i] <= min_val ? min_val : input[i] >= max_val ? max_val : input[i];
}

// input, output are device pointers (i.e. pointers to memory on the GPU)
extern "C" void solve(const float* input, float* output, int N, float min_val, float max_val) {
    int threadsPerBlock = 256;
    int blocksPerGrid = (N + threadsPerBlock - 1) / threadsPerBlock;
    hardtanh_kernel<<<blocksPerGrid, threadsPerBlock>>>(input, output, N, min_val, max_val);
    cudaDeviceSynchronize();
}
