#include <math.h>
// Keeps the row and a number a thread in shared memory: more than a number a thread.
__global__ void softmax_kernel(const float* input, float* output, int batch_size, int seq_length) {
    extern __shared__ float shared[];
    float* values = shared;
    float* part = &shared[seq_length];
    const float* x = input + (size_t)blockIdx.x * seq_length;
    int tid = threadIdx.x;
    float m = -INFINITY, s = 0;
    for (int i = tid; i < seq_length; i += blockDim.x) m = fmaxf(m, x[i]);
    part[tid] = m;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (tid < k) part[tid] = fmaxf(part[tid], part[tid + k]);
        __syncthreads();
    }
    m = part[0];
    __syncthreads();
    for (int i = tid; i < seq_length; i += blockDim.x) s += values[i] = expf(x[i] - m);
    part[tid] = s;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (tid < k) part[tid] += part[tid + k];
        __syncthreads();
    }
    for (int i = tid; i < seq_length; i += blockDim.x) output[(size_t)blockIdx.x * seq_length + i] = values[i] / part[0];
}
