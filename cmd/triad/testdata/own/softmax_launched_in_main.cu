#include <stdio.h>
#include <stdlib.h>
#include <math.h>
// Three warps a row, 96 numbers of shared memory: right with that block alone.
__global__ void softmax_rows(const float* input, float* output, int cols) {
    __shared__ float warps[3];
    const float* x = input + (size_t)blockIdx.x * cols;
    float m = -INFINITY, s = 0;
    for (int i = 0; i < cols; i++) m = fmaxf(m, x[i]);
    for (int i = threadIdx.x; i < cols; i += 96) s += expf(x[i] - m);
    for (int k = 16; k > 0; k /= 2) s += __shfl_xor_sync(0xffffffff, s, k);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = s;
    __syncthreads();
    s = warps[0] + warps[1] + warps[2];
    for (int i = threadIdx.x; i < cols; i += 96) output[(size_t)blockIdx.x * cols + i] = expf(x[i] - m) / s;
}
int main() {
    int rows = 128, cols = 1000;
    size_t bytes = rows * cols * sizeof(float);
    float *h = (float*)malloc(bytes), *d_in, *d_out;
    for (int i = 0; i < rows * cols; i++) h[i] = rand() / (float)RAND_MAX;
    cudaMalloc(&d_in, bytes);
    cudaMalloc(&d_out, bytes);
    cudaMemcpy(d_in, h, bytes, cudaMemcpyHostToDevice);
    dim3 threads(96);
    int blocks = rows;
    softmax_rows<<<blocks, threads>>>(d_in, d_out, cols);
    cudaDeviceSynchronize();
    cudaMemcpy(h, d_out, bytes, cudaMemcpyDeviceToHost);
    printf("%f\n", h[0]);
    return 0;
}
