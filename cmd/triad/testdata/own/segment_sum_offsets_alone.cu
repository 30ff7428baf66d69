#include <cuda_runtime.h>
__global__ void segment_sum_kernel(const float* values, const int* offsets, float* output, int num_segments) {
    int seg = blockIdx.x;
    if (seg >= num_segments) return;
    float sum = 0.0f;
    for (int i = offsets[seg] + threadIdx.x; i < offsets[seg + 1]; i += blockDim.x) sum += values[i];
    __shared__ float buf[128];
    buf[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s >>= 1) {
        if (threadIdx.x < s) buf[threadIdx.x] += buf[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) output[seg] = buf[0];
}
extern "C" void solve(const float* values, const int* offsets, float* output, int num_segments) {
    segment_sum_kernel<<<num_segments, 128>>>(values, offsets, output, num_segments);
}
