#include <cmath>

namespace mine::kernels {

__global__ void softmax_kernel(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float most = -INFINITY, sum = 0.0f;
    for (int i = 0; i < cols; i++) most = fmaxf(most, x[row * cols + i]);
    for (int i = 0; i < cols; i++) sum += expf(x[row * cols + i] - most);
    for (int i = 0; i < cols; i++) y[row * cols + i] = expf(x[row * cols + i] - most) / sum;
}

void softmax(const float* x, float* y, int rows, int cols) {
    softmax_kernel<<<(rows + 63) / 64, 64>>>(x, y, rows, cols);
}

}  // namespace mine::kernels
