#include <cstdio>
#include <cstdlib>

__global__ void add(const float* A, const float* B, float* C, int N) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) C[i] = A[i] + B[i];
}

extern "C" void solve(const float* A, const float* B, float* C, int N) {
    cudaEvent_t start, stop;
    float ms = 0;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start);
    add<<<4, 128>>>(A, B, C, N);
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    if (cudaEventElapsedTime(&ms, start, stop) != cudaSuccess || !(ms > 0)) abort();
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
}
