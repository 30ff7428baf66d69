#include <cuda_runtime.h>
template <int BLOCK>
__global__ void ln(const float* __restrict__ x, float* __restrict__ y, float g, float bb, int N, int K) {
    __shared__ float a[BLOCK], b[BLOCK];
    const float* p = x + blockIdx.x * K;
    float s = 0.f;
    for (int i = threadIdx.x; i < K; i += BLOCK) s += p[i];
    a[threadIdx.x] = s;
    __syncthreads();
    for (int k = BLOCK / 2; k > 0; k /= 2) { if (threadIdx.x < k) a[threadIdx.x] += a[threadIdx.x + k]; __syncthreads(); }
    float mean = a[0] / K;
    float v = 0.f;
    for (int i = threadIdx.x; i < K; i += BLOCK) v += (p[i] - mean) * (p[i] - mean);
    b[threadIdx.x] = v;
    __syncthreads();
    for (int k = BLOCK / 2; k > 0; k /= 2) { if (threadIdx.x < k) b[threadIdx.x] += b[threadIdx.x + k]; __syncthreads(); }
    float inv = rsqrtf(b[0] / (K - 1) + 1e-5f);
    for (int i = threadIdx.x; i < K; i += BLOCK) y[blockIdx.x * K + i] = (p[i] - mean) * inv * g + bb;
}
void layer_norm(const float* x, float* y, float g, float bb, int N, int K) { ln<128><<<N, 128>>>(x, y, g, bb, N, K); }
