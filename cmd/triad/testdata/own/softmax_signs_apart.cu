// Launched as some editors write it, with the signs set apart.
#include <cuda_runtime.h>

__global__ void row_softmax(const float *input, float *output, int M, int N) {
    extern __shared__ float part[];
    const float *x = input + blockIdx.x * N;
    float *y = output + blockIdx.x * N;
    float largest = -INFINITY;
    for (int i = threadIdx.x; i < N; i += blockDim.x) largest = fmaxf(largest, x[i]);
    part[threadIdx.x] = largest;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
        __syncthreads();
    }
    largest = part[0];
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < N; i += blockDim.x) sum += expf(x[i] - largest);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    for (int i = threadIdx.x; i < N; i += blockDim.x) y[i] = expf(x[i] - largest) / part[0];
}

int main() {
    int M = 64, N = 100;
    float *in, *out;
    cudaMalloc(&in, M * N * sizeof(float));
    cudaMalloc(&out, M * N * sizeof(float));
    dim3 block(128);
    row_softmax << <M, block, block.x * sizeof(float) >> > (in, out, M, N);
    return 0;
}
