__global__ void matrix_add(const float* A, const float* B, float* C, int N) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < N * N) C[idx] = A[idx] + B[idx];
}

extern "C" void solve(const float* A, const float* B, float* C, int N) {
    matrix_add<<<(N * N + 255) / 256, 256>>>(A, B, C, N);
    cudaDeviceSynchronize();
}
