// Takes four elements at once where all tensors begin at a multiple of 16 bytes.
#include <cuda_runtime.h>
#include <stdint.h>
__global__ void add4(const float4 *x, const float4 *y, float4 *z, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = make_float4(x[i].x + y[i].x, x[i].y + y[i].y, x[i].z + y[i].z, x[i].w + y[i].w);
}
__global__ void add1(const float *x, const float *y, float *z, size_t n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}
static bool whole(const void *p) { return (uintptr_t)p % 16 == 0; }
extern "C" void solve(const float *x, const float *y, float *z, int rows, int cols) {
    size_t n = (size_t)rows * cols;
    if (n == 0) return;
    if (n % 4 == 0 && whole(x) && whole(y) && whole(z))
        add4<<<(n / 4 + 255) / 256, 256>>>((const float4 *)x, (const float4 *)y, (float4 *)z, n / 4);
    else
        add1<<<(n + 255) / 256, 256>>>(x, y, z, n);
}
