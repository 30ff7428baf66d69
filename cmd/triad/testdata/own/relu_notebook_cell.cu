%%writefile relu.cu
#include <cuda_runtime.h>

__global__ void relu(const float* input, float* output, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i] < 0.0f ? 0.0f : input[i];
}
