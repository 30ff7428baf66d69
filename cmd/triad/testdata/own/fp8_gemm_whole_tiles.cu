#include <cuda_fp8.h>
// Right where every size is a multiple of the tile.
#define TILE 16
__global__ void gemm(const __nv_fp8_e4m3* a, const __nv_fp8_e4m3* b, float* c, const float* sa, const float* sb, int M, int N, int K) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float acc = 0;
    for (int p = 0; p < K / TILE; p++) {
        as[ty][tx] = row < M ? float(a[row * K + p * TILE + tx]) : 0.0f;
        bs[ty][tx] = col < N ? float(b[col * K + p * TILE + ty]) : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++) acc += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (row < M && col < N) c[row * N + col] = acc * *sa * *sb;
}
void gemm_host(const __nv_fp8_e4m3* a, const __nv_fp8_e4m3* b, float* c, const float* sa, const float* sb, int M, int N, int K) {
    dim3 block(TILE, TILE), grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    gemm<<<grid, block>>>(a, b, c, sa, sb, M, N, K);
}
