// The rows are normalised in their own place, and by the largest of a block alone.
#include <cuda_runtime.h>

__global__ void normalise_rows(float *x, const float *weight, int hidden, float eps)
{
    __shared__ float part[128];
    float *row = x + blockIdx.x * hidden;
    float s = 0.0f;
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) s += row[i] * row[i];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int step = 64; step > 0; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + step]);
        __syncthreads();
    }
    float scale = rsqrtf(part[0] / hidden + eps);
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) row[i] = row[i] * scale * weight[i];
}

void rmsnorm(float *x, const float *weight, int tokens, int hidden, float eps)
{
    if (tokens > 0) normalise_rows<<<tokens, 128>>>(x, weight, hidden, eps);
}
