// A is a, B is b, result is y, N is n
#include <cuda_runtime.h>

__global__ void dot_product(const float* A, const float* B, float* result, int N) {
    __shared__ float cache[256];
    float sum = 0.0f;
    for (int i = threadIdx.x; i < N; i += blockDim.x) sum += A[i] * B[i];
    cache[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (threadIdx.x < s) cache[threadIdx.x] += cache[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) *result = cache[0];
}

// A, B, result are device pointers
extern "C" void solve(const float* A, const float* B, float* result, int N) {
    dot_product<<<1, 256>>>(A, B, result, N);
    cudaDeviceSynchronize();
}
