#include <cuda_fp16.h>
// A warp a row; any of the two types.
template <typename T> __device__ float f(T v) { return float(v); }
template <typename scalar_t>
__global__ void softmax_warp(const scalar_t* __restrict__ input, scalar_t* __restrict__ output, int batch_size, int dim) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= batch_size) return;
    float m = -INFINITY, s = 0;
    for (int c = lane; c < dim; c += 32) m = fmaxf(m, f(input[row * dim + c]));
    for (int o = 16; o > 0; o /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, o));
    for (int c = lane; c < dim; c += 32) s += expf(f(input[row * dim + c]) - m);
    for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(0xffffffff, s, o);
    for (int c = lane; c < dim; c += 32) output[row * dim + c] = scalar_t(expf(f(input[row * dim + c]) - m) / s);
}
