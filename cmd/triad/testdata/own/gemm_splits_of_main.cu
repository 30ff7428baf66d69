#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#define TILE 16
#define SPLIT_K 4

__global__ void gemm_splitk_partial(const float *A, const float *B, float *workspace, int M, int N, int K) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;
    int split = blockIdx.z;
    int chunk = (K + SPLIT_K - 1) / SPLIT_K;
    int k_begin = split * chunk;
    int k_end = min(K, k_begin + chunk);
    float acc = 0.0f;
    for (int k0 = k_begin; k0 < k_end; k0 += TILE) {
        int ka = k0 + threadIdx.x, kb = k0 + threadIdx.y;
        As[threadIdx.y][threadIdx.x] = (row < M && ka < k_end) ? A[row * K + ka] : 0.0f;
        Bs[threadIdx.y][threadIdx.x] = (kb < k_end && col < N) ? B[kb * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N) workspace[(split * M + row) * N + col] = acc;
}

__global__ void reduce_splits(const float *workspace, float *C, int M, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M * N) return;
    float s = 0.0f;
    for (int k = 0; k < SPLIT_K; ++k) s += workspace[k * M * N + i];
    C[i] = s;
}

int main() {
    int M = 96, N = 64, K = 200;
    size_t sA = M * K * sizeof(float), sB = K * N * sizeof(float), sC = M * N * sizeof(float);
    float *A = (float *)malloc(sA), *B = (float *)malloc(sB), *C = (float *)malloc(sC);
    for (int i = 0; i < M * K; i++) A[i] = rand() % 10;
    for (int i = 0; i < K * N; i++) B[i] = rand() % 10;
    float *dA, *dB, *dC, *dW;
    cudaMalloc(&dA, sA); cudaMalloc(&dB, sB); cudaMalloc(&dC, sC);
    cudaMalloc(&dW, SPLIT_K * sC);
    cudaMemcpy(dA, A, sA, cudaMemcpyHostToDevice);
    cudaMemcpy(dB, B, sB, cudaMemcpyHostToDevice);
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE, SPLIT_K);
    gemm_splitk_partial<<<grid, block>>>(dA, dB, dW, M, N, K);
    reduce_splits<<<(M * N + 255) / 256, 256>>>(dW, dC, M, N);
    cudaMemcpy(C, dC, sC, cudaMemcpyDeviceToHost);
    printf("%f\n", C[0]);
    return 0;
}
