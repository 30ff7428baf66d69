#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define BLOCK 256

// 1. scan each block
__global__ void scan_blocks(const float *in, float *out, float *block_sums, int n) {
    __shared__ float temp[BLOCK];
    int gid = blockIdx.x * BLOCK + threadIdx.x;
    temp[threadIdx.x] = gid < n ? in[gid] : 0;
    __syncthreads();
    for (int offset = 1; offset < BLOCK; offset *= 2) {
        float v = 0;
        if (threadIdx.x >= offset) v = temp[threadIdx.x - offset];
        __syncthreads();
        temp[threadIdx.x] += v;
        __syncthreads();
    }
    if (gid < n) out[gid] = temp[threadIdx.x];
    if (threadIdx.x == BLOCK - 1) block_sums[blockIdx.x] = temp[BLOCK - 1];
}

// 2. scan the sums of the blocks with one thread
__global__ void scan_sums(float *block_sums, int num_blocks) {
    float total = 0;
    for (int i = 0; i < num_blocks; i++) {
        float s = block_sums[i];
        block_sums[i] = i ? total : s;
        total += s;
    }
}

// 3. add the offset of each block
__global__ void add_offsets(float *out, const float *block_sums, int n) {
    int gid = blockIdx.x * BLOCK + threadIdx.x;
    if (gid < n) out[gid] += block_sums[blockIdx.x];
}

int main() {
    const int n = 5000;
    float *h = (float *)malloc(n * sizeof(float));
    for (int i = 0; i < n; i++) h[i] = i % 7;
    float *d_in, *d_out, *d_sums;
    int blocks = (n + BLOCK - 1) / BLOCK;
    cudaMalloc(&d_in, n * sizeof(float));
    cudaMalloc(&d_out, n * sizeof(float));
    cudaMalloc(&d_sums, blocks * sizeof(float));
    cudaMemcpy(d_in, h, n * sizeof(float), cudaMemcpyHostToDevice);
    scan_blocks<<<blocks, BLOCK>>>(d_in, d_out, d_sums, n);
    scan_sums<<<1, 1>>>(d_sums, blocks);
    add_offsets<<<blocks, BLOCK>>>(d_out, d_sums, n);
    float *r = (float *)malloc(n * sizeof(float));
    cudaMemcpy(r, d_out, n * sizeof(float), cudaMemcpyDeviceToHost);
    printf("last %f\n", r[n - 1]);
    return 0;
}
