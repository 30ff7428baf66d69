#include <cmath>

__global__ void addKernel(float* a, float* b, float* c, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) c[i] = a[i] + b[i];
}

void vecAdd(float* a_h, float* b_h, float* c_h, int n) {
    float *a, *b, *c;
    int bytes = n * sizeof(float);
    cudaMalloc(&a, bytes);
    cudaMalloc(&b, bytes);
    cudaMalloc(&c, bytes);
    cudaMemcpy(a, a_h, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(b, b_h, bytes, cudaMemcpyHostToDevice);
    addKernel<<<ceil(n / 256), 256>>>(a, b, c, n);
    cudaMemcpy(c_h, c, bytes, cudaMemcpyDeviceToHost);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}
