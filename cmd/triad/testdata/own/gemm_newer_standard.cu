// C++20: the helper is a template of whole numbers.
#include <cuda_runtime.h>
#include <concepts>

constexpr int kTile = 16;

template <std::integral T>
constexpr T pieces(T n, T piece) {
    return (n + piece - 1) / piece;
}

__global__ void product(const float *A, const float *B, float *C, int M, int N, int K) {
    int col = blockIdx.x * kTile + threadIdx.x;
    int row = blockIdx.y * kTile + threadIdx.y;
    if (row >= M || col >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}

void matmul(const float *A, const float *B, float *C, int M, int N, int K) {
    dim3 block(kTile, kTile);
    dim3 grid(pieces(N, kTile), pieces(M, kTile));
    product<<<grid, block>>>(A, B, C, M, N, K);
}
