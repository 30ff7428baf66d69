#include <cuda_runtime.h>
#include <cstdint>
#include <cmath>
// one scale for each row
__global__ void quantize_rows(const float* x, int8_t* q, float* scales, int rows, int cols) {
    int row = blockIdx.x;
    __shared__ float s[256];
    float m = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 256) m = fmaxf(m, fabsf(x[row * cols + c]));
    s[threadIdx.x] = m;
    __syncthreads();
    for (int k = 128; k > 0; k >>= 1) {
        if (threadIdx.x < k) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + k]);
        __syncthreads();
    }
    float scale = s[0] > 0.0f ? s[0] / 127.0f : 1.0f;
    if (threadIdx.x == 0) scales[row] = scale;
    for (int c = threadIdx.x; c < cols; c += 256) {
        float v = rintf(x[row * cols + c] / scale);
        q[row * cols + c] = static_cast<int8_t>(fminf(fmaxf(v, -128.0f), 127.0f));
    }
}
extern "C" void quantize(const float* x, int8_t* q, float* scales, int rows, int cols) {
    quantize_rows<<<rows, 256>>>(x, q, scales, rows, cols);
}
