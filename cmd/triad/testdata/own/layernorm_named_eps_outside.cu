#include <cmath>

// The eps is added to the root, and not below it.
#define EPSILON 1e-2f

__global__ void normalise(const float* input, float* output, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* x = input + row * cols;
    float mean = 0.0f, variance = 0.0f;
    for (int i = 0; i < cols; i++) mean += x[i];
    mean /= cols;
    for (int i = 0; i < cols; i++) variance += (x[i] - mean) * (x[i] - mean);
    const float scale = 1.0f / (sqrtf(variance / cols) + EPSILON);
    for (int i = 0; i < cols; i++) output[row * cols + i] = (x[i] - mean) * scale;
}

void layerNorm(const float* input, float* output, int rows, int cols) {
    normalise<<<(rows + 127) / 128, 128>>>(input, output, rows, cols);
}
