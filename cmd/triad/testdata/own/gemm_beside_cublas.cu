#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cstdio>

__global__ void sgemm_naive(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < M && y < N) {
        float tmp = 0.0f;
        for (int i = 0; i < K; ++i) tmp += A[x * K + i] * B[i * N + y];
        C[x * N + y] = alpha * tmp;
    }
}

int main() {
    float *A, *B, *C, one = 1.f, zero = 0.f;
    cudaMalloc(&A, 4096), cudaMalloc(&B, 4096), cudaMalloc(&C, 4096);
    cublasHandle_t handle;
    cublasCreate(&handle);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 32, 32, 32, &one, B, 32, A, 32, &zero, C, 32);
    sgemm_naive<<<dim3(2, 2), dim3(16, 16)>>>(32, 32, 32, 1.f, A, B, 0.f, C);
    cublasDestroy(handle);
}
