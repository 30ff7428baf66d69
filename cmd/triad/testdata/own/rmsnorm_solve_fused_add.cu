// Adds a residual, keeps the sum, and normalises it: a block of 256 threads a row.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void fused_add_rms_norm_kernel(const half* input, const half* residual, const half* weight, half* out,
                                          half* residual_out, int hidden_size, float epsilon) {
    __shared__ float partial[256];
    const size_t first = (size_t)blockIdx.x * hidden_size;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < hidden_size; i += blockDim.x) {
        float v = __half2float(input[first + i]) + __half2float(residual[first + i]);
        sum += v * v;
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half_of = blockDim.x / 2; half_of > 0; half_of /= 2) {
        if (threadIdx.x < half_of) partial[threadIdx.x] += partial[threadIdx.x + half_of];
        __syncthreads();
    }
    float scale = rsqrtf(partial[0] / hidden_size + epsilon);
    for (int i = threadIdx.x; i < hidden_size; i += blockDim.x) {
        float v = __half2float(input[first + i]) + __half2float(residual[first + i]);
        residual_out[first + i] = __float2half(v);
        out[first + i] = __float2half(v * scale * __half2float(weight[i]));
    }
}

void fused_add_rms_norm(const half* input, const half* residual, const half* weight, half* out, half* residual_out,
                        int num_tokens, int hidden_size, float epsilon, cudaStream_t stream) {
    fused_add_rms_norm_kernel<<<num_tokens, 256, 0, stream>>>(input, residual, weight, out, residual_out, hidden_size,
                                                              epsilon);
}
