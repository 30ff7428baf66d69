// (?s)is -121, want -128, .*held between -128 and 127, not what goes into it
#include <cuda_runtime.h>

__global__ void matmul(const int8_t* A, const int8_t* B, int8_t* C, int M, int N, int K, float scale, int zero_A, int zero_B, int zero_C) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M || col >= N) return;
    int sum = 0;
    for (int k = 0; k < K; k++) sum += ((int)A[row * K + k] - zero_A) * ((int)B[k * N + col] - zero_B);
    int q = max(-128, min(127, (int)rintf(sum * scale))) + zero_C;
    C[row * N + col] = (int8_t)max(-128, min(127, q));
}

// A, B, C are device pointers
extern "C" void solve(const int8_t* A, const int8_t* B, int8_t* C, int M, int N, int K, float scale_A, float scale_B, float scale_C, int zero_point_A, int zero_point_B, int zero_point_C) {
    dim3 threads(16, 16);
    dim3 blocks((N + threads.x - 1) / threads.x, (M + threads.y - 1) / threads.y);
    matmul<<<blocks, threads>>>(A, B, C, M, N, K, scale_A * scale_B / scale_C, zero_point_A, zero_point_B, zero_point_C);
    cudaDeviceSynchronize();
}
