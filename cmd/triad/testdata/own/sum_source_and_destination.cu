#include <cuda_runtime.h>

const int Len = 5000;
const int kThreads = 128;

__global__ void total(float *p_source, float *p_destination) {
    extern __shared__ float part[];
    part[threadIdx.x] = p_source[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(p_destination, part[0]);
}

int main() {
    float *src, *dst;
    cudaMalloc(&src, Len * sizeof(float));
    cudaMalloc(&dst, sizeof(float));
    cudaMemset(dst, 0, sizeof(float));
    total<<<(Len + kThreads - 1) / kThreads, kThreads, kThreads * sizeof(float)>>>(src, dst);
    cudaDeviceSynchronize();
}
