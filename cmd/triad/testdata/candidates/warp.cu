#include <cuda_runtime.h>
// One warp a row, in one pass: the sum is scaled where the maximum moves.
__global__ void softmax_rows(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;
    const float* a = x + (size_t)row * cols;
    float* b = y + (size_t)row * cols;
    float m = -INFINITY, s = 0;
    for (int i = lane; i < cols; i += 32) {
        float top = fmaxf(m, a[i]);
        if (a[i] != -INFINITY) s = s * expf(m - top) + expf(a[i] - top);
        m = top;
    }
    for (int apart = 16; apart > 0; apart /= 2) {
        float other = __shfl_xor_sync(0xffffffff, m, apart), sum = __shfl_xor_sync(0xffffffff, s, apart);
        float top = fmaxf(m, other);
        if (top != -INFINITY) s = s * expf(m - top) + sum * expf(other - top);
        m = top;
    }
    for (int i = lane; i < cols; i += 32) b[i] = expf(a[i] - m) / s;
}

extern "C" void solve(const float* x, float* y, int rows, int cols) {
    if (rows > 0) softmax_rows<<<(rows + 3) / 4, dim3(32, 4)>>>(x, y, rows, cols);
    cudaDeviceSynchronize();
}
