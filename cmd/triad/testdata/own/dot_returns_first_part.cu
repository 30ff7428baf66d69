#include <cuda_runtime.h>
#include <vector>
#define THREADS 256

__global__ void dot_kernel(const float* a, const float* b, float* partial, int n) {
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

float dotProduct(const float* h_a, const float* h_b, int n) {
    const int blocks = (n + THREADS - 1) / THREADS;
    float *a, *b, *partial;
    std::vector<float> h_partial(blocks);
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMalloc(&partial, blocks * sizeof(float));
    cudaMemcpy(a, h_a, n * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(b, h_b, n * sizeof(float), cudaMemcpyHostToDevice);
    dot_kernel<<<blocks, THREADS>>>(a, b, partial, n);
    cudaMemcpy(h_partial.data(), partial, blocks * sizeof(float), cudaMemcpyDeviceToHost);
    float total = 0.0f;
    for (int i = 0; i < blocks; i++) total += h_partial[0];
    cudaFree(a);
    cudaFree(b);
    cudaFree(partial);
    return total;
}
