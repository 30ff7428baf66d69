#include <cuda_runtime.h>

__device__ __forceinline__ float silu(float x) { return x / (1.0f + __expf(-x)); }

__global__ void swiglu_kernel(const float* __restrict__ gate_proj, const float* __restrict__ up_proj, float* __restrict__ result, int num_tokens, int intermediate_size) {
    int token = blockIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (col < intermediate_size) {
        size_t idx = (size_t)token * intermediate_size + col;
        result[idx] = silu(gate_proj[idx]) * up_proj[idx];
    }
}

// gate_proj, up_proj, result are device pointers
extern "C" void solve(const float* gate_proj, const float* up_proj, float* result, int num_tokens, int intermediate_size) {
    dim3 threadsPerBlock(256);
    dim3 blocksPerGrid((intermediate_size + threadsPerBlock.x - 1) / threadsPerBlock.x, num_tokens);
    swiglu_kernel<<<blocksPerGrid, threadsPerBlock>>>(gate_proj, up_proj, result, num_tokens, intermediate_size);
    cudaDeviceSynchronize();
}
