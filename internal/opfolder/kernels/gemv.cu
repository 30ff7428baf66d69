// A is a, x is x, y is y, M is rows, N is cols
#include <cuda_runtime.h>

__global__ void matvec(const float* A, const float* x, float* y, int M, int N) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= M) return;
    float sum = 0.0f;
    for (int j = 0; j < N; j++) sum += A[row * N + j] * x[j];
    y[row] = sum;
}

// A, x, y are device pointers (i.e. pointers to memory on the GPU)
extern "C" void solve(const float* A, const float* x, float* y, int M, int N) {
    int threadsPerBlock = 256;
    int blocksPerGrid = (M + threadsPerBlock - 1) / threadsPerBlock;
    matvec<<<blocksPerGrid, threadsPerBlock>>>(A, x, y, M, N);
    cudaDeviceSynchronize();
}
