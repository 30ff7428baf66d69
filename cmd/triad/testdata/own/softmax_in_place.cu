#include <math.h>
__global__ void softmax_inplace(float* x, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    x += (long)i * cols; float m = -INFINITY, s = 0;
    for (int j = 0; j < cols; j++) m = fmaxf(m, x[j]);
    for (int j = 0; j < cols; j++) { x[j] = expf(x[j] - m); s += x[j]; }
    for (int j = 0; j < cols; j++) x[j] /= s;
}
