// Whole tiles alone: what is none is for the caller to pad.
#include <cuda_runtime.h>

#define TILE 32

__global__ void tiles(const float *a, const float *b, float *c, int M, int N, int K) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int at = 0; at < K; at += TILE) {
        left[threadIdx.y][threadIdx.x] = a[row * K + at + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(at + threadIdx.y) * N + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
        __syncthreads();
    }
    c[row * N + col] = sum;
}

bool gemm_tiled(const float *a, const float *b, float *c, int M, int N, int K) {
    if (M % TILE || N % TILE || K % TILE) return false;
    tiles<<<dim3(N / TILE, M / TILE), dim3(TILE, TILE)>>>(a, b, c, M, N, K);
    return cudaGetLastError() == cudaSuccess;
}
