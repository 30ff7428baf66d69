// The sizes come as a pointer, and are taken for columns before rows.
#include <cuda_runtime.h>

__global__ void turn(const float *in, float *out, const int *shape)
{
    int rows = shape[1], cols = shape[0];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) out[(i % cols) * rows + i / cols] = in[i];
}

void transpose(const float *in, float *out, const int *shape, int ndim, int rows, int cols)
{
    int n = rows * cols;
    if (n > 0 && ndim == 2) turn<<<(n + 255) / 256, 256>>>(in, out, shape);
}
