#define TILE 16

__global__ void tiled(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float sum = 0.f;
    for (int t = 0; t < (N + TILE - 1) / TILE; ++t) {
        a[ty][tx] = row < M && t * TILE + tx < N ? A[row * N + t * TILE + tx] : 0.f;
        b[ty][tx] = col < K && t * TILE + ty < N ? B[(t * TILE + ty) * K + col] : 0.f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += a[ty][i] * b[i][tx];
        __syncthreads();
    }
    if (row < M && col < K) C[row * K + col] = sum;
}

extern "C" void solve(const float* A, const float* B, float* C, int M, int N, int K) {
    tiled<<<dim3((K + TILE - 1) / TILE, (M + TILE - 1) / TILE), dim3(TILE, TILE)>>>(A, B, C, M, N, K);
}
