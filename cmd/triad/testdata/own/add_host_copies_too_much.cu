#include <cuda_runtime.h>
#include <cstdio>
#include <cmath>

__global__ void add_kernel(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

void vectorAdd(float* h_A, float* h_B, float* h_C, int n) {
    float *d_A, *d_B, *d_C;
    size_t size = n * sizeof(float);
    cudaMalloc(&d_A, size);
    cudaMalloc(&d_B, size);
    cudaMalloc(&d_C, 2 * size);
    cudaMemcpy(d_A, h_A, size, cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, h_B, size, cudaMemcpyHostToDevice);
    add_kernel<<<(n + 255) / 256, 256>>>(d_A, d_B, d_C, n);
    cudaMemcpy(h_C, d_C, size + 8, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++) {
        if (fabs(h_A[i] + h_B[i] - h_C[i]) > 1e-5) {
            printf("wrong at %d\n", i);
            break;
        }
    }
    cudaFree(d_A);
    cudaFree(d_B);
    cudaFree(d_C);
}
