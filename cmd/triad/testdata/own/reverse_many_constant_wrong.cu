#include <cstdio>

#define N (1 << 28)
#define THREADS 256

__global__ void flip(float *from, float *to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) to[N - 1 - i] = from[i ^ 1];
}

int main() {
    float *a, *b;
    cudaMalloc(&a, N * sizeof(float));
    cudaMalloc(&b, N * sizeof(float));
    flip<<<(N + THREADS - 1) / THREADS, THREADS>>>(a, b);
    cudaDeviceSynchronize();
    return 0;
}
