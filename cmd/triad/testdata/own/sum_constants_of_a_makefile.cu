// Built with -DTHREADS_PER_BLOCK=... -DREADS=..., which the Makefile sweeps.
#include <cuda_runtime.h>

__global__ void block_sums(const float *src, float *sums, int n) {
    __shared__ float part[THREADS_PER_BLOCK];
    float mine = 0.0f;
    for (int r = 0; r < READS; ++r) {
        int i = (r * gridDim.x + blockIdx.x) * THREADS_PER_BLOCK + threadIdx.x;
        if (i < n) mine += src[i];
    }
    part[threadIdx.x] = mine;
    for (int half = THREADS_PER_BLOCK / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}
