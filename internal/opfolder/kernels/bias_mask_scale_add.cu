// input is x, bias is bias, mask is mask, residual is residual, output is y, scale is scale, rows is rows, cols is cols
#include <cuda_runtime.h>

__global__ void fused_kernel(const float* input, const float* bias, const bool* mask, const float* residual, float* output,
                             float scale, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * cols) return;
    float v = (input[i] + bias[i % cols]) * (mask[i] ? 1.0f : 0.0f);
    output[i] = v * scale + residual[i];
}

// input, bias, mask, residual, output are device pointers
extern "C" void solve(const float* input, const float* bias, const bool* mask, const float* residual, float* output,
                      float scale, int rows, int cols) {
    int total = rows * cols;
    int threadsPerBlock = 256;
    int blocksPerGrid = (total + threadsPerBlock - 1) / threadsPerBlock;
    fused_kernel<<<blocksPerGrid, threadsPerBlock>>>(input, bias, mask, residual, output, scale, rows, cols);
    cudaDeviceSynchronize();
}
