// y\[\d+\] is
#include <cuda_runtime.h>

__global__ void segment_sum(const float* values, const long long* offsets, float* output, int N, int num_segments) {
    int s = blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= num_segments) return;
    float sum = 0.0f;
    for (long long i = offsets[s]; i <= offsets[s + 1] && i < N; i++) sum += values[i];
    output[s] = sum;
}

// values, offsets, output are device pointers; segment s is values[offsets[s]] to values[offsets[s + 1] - 1]
extern "C" void solve(const float* values, const long long* offsets, float* output, int N, int num_segments) {
    int threads = 256;
    segment_sum<<<(num_segments + threads - 1) / threads, threads>>>(values, offsets, output, N, num_segments);
    cudaDeviceSynchronize();
}
