#include <cuda_runtime.h>
#include <cmath>
#ifndef __CUDACC__
// An editor does not know these.
struct Place { unsigned x, y, z; };
extern Place threadIdx, blockIdx, blockDim;
#endif

#ifdef __CUDACC__
__global__ void add_kernel(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

extern "C" void solve(const float *a, const float *b, float *c, int n) {
    if (n > 0) add_kernel<<<(n + 127) / 128, 128>>>(a, b, c, n);
}
#endif
