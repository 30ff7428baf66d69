#include <math.h>
__global__ void normalise(const float* x, const float* g, const float* h, float* y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    x += (size_t)row * cols;
    y += (size_t)row * cols;
    float sum = 0;
    for (int i = 0; i < cols; i++) sum += x[i];
    float mean = sum / cols, var = 0;
    for (int i = 0; i < cols; i++) var += (x[i] - mean) * (x[i] - mean);
    float r = 1 / sqrtf(var / cols + 1e-6f);
    for (int i = 0; i < cols; i++) y[i] = (x[i] - mean) * r * g[i] + h[i];
}
extern "C" void solve(const float* inp, const float* gamma, const float* beta, float* out, int rows, int cols) {
    normalise<<<(rows + 63) / 64, 64>>>(inp, gamma, beta, out, rows, cols);
}
