#include <cuda_runtime.h>

const int kLength = 1000;

__global__ void add(const float *a, const float *b, float *c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kLength) c[i] = a[i] + b[i];
}
