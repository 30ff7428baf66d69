#include <cuda_runtime.h>
#include <cstdlib>
#define THREADS 256

__global__ void partial_dots(const float* a, const float* b, float* partial, int n) {
    __shared__ float cache[THREADS];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i] * b[i];
    cache[threadIdx.x] = sum;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) cache[threadIdx.x] += cache[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = cache[0];
}

void dot(const float* h_a, const float* h_b, float* h_result, int n) {
    const int blocks = 32;
    float *a, *b, *partial;
    float* h_partial = (float*)malloc(blocks * sizeof(float));
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMalloc(&partial, blocks * sizeof(float));
    cudaMemcpy(a, h_a, n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(b, h_b, n * sizeof(float), cudaMemcpyHostToDevice);
    partial_dots<<<blocks, THREADS>>>(a, b, partial, n);
    cudaMemcpy(h_partial, partial, blocks * sizeof(float), cudaMemcpyDeviceToHost);
    double total = 0.0;
    for (int i = 0; i < blocks; i++) total += h_partial[i];
    *h_result = (float)total;
    cudaFree(a);
    cudaFree(b);
    cudaFree(partial);
    free(h_partial);
}
