#include <cuda_runtime.h>

#define DEBUG 0

// One block a row. N is passed as a float: the mean of the squares divides by it.
__global__ void rmsnorm(const float *x, const float *weight, float *y, float N, float eps) {
    __shared__ float total;
    const float *row = x + (size_t)blockIdx.x * (int)N;
    if (threadIdx.x == 0) total = 0.f;
    __syncthreads();
    float part = 0.f;
    for (int i = threadIdx.x; i < (int)N; i += blockDim.x) part += row[i] * row[i];
    atomicAdd(&total, part);
    __syncthreads();
    float scale = rsqrtf(total / N + eps);
    for (int i = threadIdx.x; i < (int)N; i += blockDim.x) y[(size_t)blockIdx.x * (int)N + i] = row[i] * scale * weight[i];
}

#if DEBUG
void run_rmsnorm(const float *x, float *y) { rmsnorm<<<1, 1>>>(x, x, y, 1.f, 0.f); }
#else
void run_rmsnorm(const float *x, const float *weight, float *y, int rows, float N, float eps) {
    rmsnorm<<<rows, 128>>>(x, weight, y, N, eps);
}
#endif
