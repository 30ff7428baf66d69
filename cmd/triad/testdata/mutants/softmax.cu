#include <math.h>
// One thread a row; the caller chooses the block.
__global__ void softmax_kernel(const float* in, float* result, int p, int q) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= p) return;
    const float* a = in + (size_t)row * q;
    float* b = result + (size_t)row * q;
    float m = -INFINITY;
    for (int i = 0; i < q; i++) m = fmaxf(m, a[i]);
    float s = 0;
    for (int i = 0; i < q; i++) s += expf(a[i] - m);
    for (int i = 0; i < q; i++) b[i] = expf(a[i] - m) / s;
}
