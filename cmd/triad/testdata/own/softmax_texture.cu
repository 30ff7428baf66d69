#include <cuda_runtime.h>
__global__ void softmax_kernel(const float* input, float* output, int rows, int cols) {
    cudaTextureObject_t none = 0;
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) output[row * cols] = none ? 0 : input[row * cols];
}
