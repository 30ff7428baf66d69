#include <cuda_runtime.h>
__global__ void attend(const float* Q, const float* K, const float* V, float* out, int M, int N, int d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M) return;
    float scale = rsqrtf((float)d), m = -INFINITY, l = 0;
    for (int j = 0; j < N; j++) {
        float s = 0;
        for (int t = 0; t < d; t++) s += Q[i * d + t] * K[j * d + t];
        m = fmaxf(m, s * scale);
    }
    for (int t = 0; t < d; t++) out[i * d + t] = 0;
    for (int j = 0; j < N; j++) {
        float s = 0;
        for (int t = 0; t < d; t++) s += Q[i * d + t] * K[j * d + t];
        float p = expf(s * scale - m);
        l += p;
        for (int t = 0; t < d; t++) out[i * d + t] += p * V[j * d + t];
    }
    for (int t = 0; t < d; t++) out[i * d + t] /= l;
}
// Q, K, V, output are device pointers
extern "C" void solve(const float* Q, const float* K, const float* V, float* output, int M, int N, int d) {
    attend<<<(M + 127) / 128, 128>>>(Q, K, V, output, M, N, d);
    cudaDeviceSynchronize();
}
