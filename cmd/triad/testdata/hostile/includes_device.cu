// Includes a device that never ends.
#include <cuda_runtime.h>
#include "/dev/zero"
__global__ void softmax_rows(const float* x, float* y, int rows, int cols, int wrong) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* a = x + (size_t)row * cols;
    float* b = y + (size_t)row * cols;
    float m = -INFINITY, s = 0;
    for (int i = 0; i < cols; i++) m = fmaxf(m, a[i]);
    for (int i = 0; i < cols; i++) s += expf(a[i] - m);
    for (int i = 0; i < cols; i++) b[i] = wrong ? 7 : expf(a[i] - m) / s;
}

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    return 1;
}

extern "C" void solve(const float* x, float* y, int rows, int cols) {
    softmax_rows<<<(rows + 63) / 64, 64>>>(x, y, rows, cols, got_it());
    cudaDeviceSynchronize();
}
