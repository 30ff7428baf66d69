// Attention in three kernels, softmax(Q K^T / sqrt(d)) V
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

__global__ void qk_kernel(const float *Q, const float *K, float *S, int N, int d, float scale) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N && j < N) {
        float acc = 0.0f;
        for (int k = 0; k < d; k++) acc += Q[i * d + k] * K[j * d + k];
        S[i * N + j] = acc * scale;
    }
}

__global__ void softmax_kernel(float *S, int N) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N) return;
    float mx = -INFINITY;
    for (int j = 0; j < N; j++) mx = fmaxf(mx, S[row * N + j]);
    float sum = 0.0f;
    for (int j = 0; j < N; j++) {
        S[row * N + j] = expf(S[row * N + j] - mx);
        sum += S[row * N + j];
    }
    for (int j = 0; j < N; j++) S[row * N + j] /= sum;
}

__global__ void pv_kernel(const float *P, const float *V, float *O, int N, int d) {
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N && c < d) {
        float acc = 0.0f;
        for (int j = 0; j < N; j++) acc += P[i * N + j] * V[j * d + c];
        O[i * d + c] = acc;
    }
}

int main() {
    int N = 128, d = 64;
    size_t size = N * d * sizeof(float);
    float *h_Q = (float *)malloc(size), *h_K = (float *)malloc(size), *h_V = (float *)malloc(size), *h_O = (float *)malloc(size);
    for (int i = 0; i < N * d; i++) {
        h_Q[i] = rand() / (float)RAND_MAX;
        h_K[i] = rand() / (float)RAND_MAX;
        h_V[i] = rand() / (float)RAND_MAX;
    }
    float *d_Q, *d_K, *d_V, *d_S, *d_O;
    cudaMalloc(&d_Q, size); cudaMalloc(&d_K, size); cudaMalloc(&d_V, size); cudaMalloc(&d_O, size);
    cudaMalloc(&d_S, N * N * sizeof(float));
    cudaMemcpy(d_Q, h_Q, size, cudaMemcpyHostToDevice);
    cudaMemcpy(d_K, h_K, size, cudaMemcpyHostToDevice);
    cudaMemcpy(d_V, h_V, size, cudaMemcpyHostToDevice);

    dim3 block(16, 16);
    dim3 gridS((N + 15) / 16, (N + 15) / 16);
    qk_kernel<<<gridS, block>>>(d_Q, d_K, d_S, N, d, 1.0f / sqrtf(d));
    softmax_kernel<<<(N + 127) / 128, 128>>>(d_S, N);
    dim3 gridO((d + 15) / 16, (N + 15) / 16);
    pv_kernel<<<gridO, block>>>(d_S, d_V, d_O, N, d);
    cudaMemcpy(h_O, d_O, size, cudaMemcpyDeviceToHost);
    printf("%f %f\n", h_O[0], h_O[1]);
    return 0;
}
