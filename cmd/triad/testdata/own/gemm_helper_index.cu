template <typename T>
__device__ __host__ T element(const T* m, int r, int c, int rows, int cols) {
    return r < rows && c < cols ? m[r * cols + c] : T(0);
}

// N is the inner size here.
__global__ void multiply(const float* A, const float* B, float* C, int M, int N, int K) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= M || c >= K) return;
    float sum = 0.0f;
    for (int i = 0; i < N; i++) sum += element(A, r, i, M, N) * element(B, i, c, N, K);
    C[r * K + c] = sum;
}

void solve(const float* A, const float* B, float* C, int M, int N, int K) {
    dim3 block(16, 16), grid((K + 15) / 16, (M + 15) / 16);
    multiply<<<grid, block>>>(A, B, C, M, N, K);
}
