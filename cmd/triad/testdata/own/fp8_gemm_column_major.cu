#include <cuda_fp8.h>
__global__ void matmul(const __nv_fp8_e4m3* A, const __nv_fp8_e4m3* B, float* C, const float* a_scale, const float* b_scale, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; k++) sum += float(A[row * K + k]) * float(B[k * N + col]);
    C[row * N + col] = sum * *a_scale * *b_scale;
}
