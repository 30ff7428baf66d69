// Reads no logit of an ignored target.
#include <cuda_runtime.h>
__global__ void row_loss(const float *logits, const int *target, float *loss, int *count, int rows, int classes, int ignore_index) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const float *row = logits + (size_t)r * classes;
    int t = target[r];
    float weight = t == ignore_index ? 0.f : 1.f;
    float own = t == ignore_index ? 0.f : row[t];
    float m = row[0], s = 0.f;
    for (int j = 1; j < classes; ++j) m = fmaxf(m, row[j]);
    for (int j = 0; j < classes; ++j) s += expf(row[j] - m);
    atomicAdd(loss, weight * (logf(s) + m - own));
    atomicAdd(count, (int)weight);
}
__global__ void finish(float *loss, const int *count) { if (*count > 0) *loss /= *count; }
extern "C" void cross_entropy(const float *logits, const int *target, float *loss, int rows, int classes, int ignore_index) {
    int *count;
    cudaMalloc(&count, sizeof(int));
    cudaMemset(count, 0, sizeof(int));
    cudaMemset(loss, 0, sizeof(float));
    if (rows > 0) row_loss<<<(rows + 127) / 128, 128>>>(logits, target, loss, count, rows, classes, ignore_index);
    finish<<<1, 1>>>(loss, count);
    cudaFree(count);
}
