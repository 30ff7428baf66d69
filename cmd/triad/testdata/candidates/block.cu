#include <cuda_runtime.h>
// One block a row: partial results meet in shared memory.
__global__ void softmax_rows(const float* x, float* y, int cols) {
    __shared__ float part[64];
    const float* a = x + (size_t)blockIdx.x * cols;
    float* b = y + (size_t)blockIdx.x * cols;
    int t = threadIdx.x;
    float m = -INFINITY;
    for (int i = t; i < cols; i += 64) m = fmaxf(m, a[i]);
    part[t] = m;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) part[t] = fmaxf(part[t], part[t + half]);
        __syncthreads();
    }
    m = part[0];
    __syncthreads();
    float s = 0;
    for (int i = t; i < cols; i += 64) s += expf(a[i] - m);
    part[t] = s;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    for (int i = t; i < cols; i += 64) b[i] = expf(a[i] - m) / part[0];
}

extern "C" void solve(const float* x, float* y, int rows, int cols) {
    if (rows > 0) softmax_rows<<<rows, 64>>>(x, y, cols);
    cudaDeviceSynchronize();
}
