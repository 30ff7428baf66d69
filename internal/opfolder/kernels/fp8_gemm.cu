// A is a, B is b, C is c, scale_a is scale_a, scale_b is scale_b, M is m, N is n, K is k
#include <cuda_fp8.h>
#define TILE 16
template <typename T>
__global__ void gemm(const T* A, const T* B, float* C, const float* scale_a, const float* scale_b, int M, int N, int K) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
    int col = blockIdx.x * TILE + threadIdx.x;
    int row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0;
    for (int t = 0; t < (K + TILE - 1) / TILE; t++) {
        int k = t * TILE + threadIdx.x, kb = t * TILE + threadIdx.x, n = blockIdx.x * TILE + threadIdx.y;
        as[threadIdx.y][threadIdx.x] = row < M && k < K ? float(A[row * K + k]) : 0.0f;
        bs[threadIdx.y][threadIdx.x] = n < N && kb < K ? float(B[n * K + kb]) : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++) sum += as[threadIdx.y][i] * bs[threadIdx.x][i];
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum * scale_a[0] * scale_b[0];
}
