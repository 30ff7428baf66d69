#include <cstdio>
#include <cstdlib>

__global__ void matrixMul(float* a, float* b, float* c, int m, int n, int k) {
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m || j >= k) return;
    float s = 0;
    for (int l = 0; l < n; l++) s += a[i * n + l] * b[l * k + j];
    c[i * k + j] = s;
}

void multiply(float* h_A, float* h_B, float* h_C, int M, int N, int K) {
    float *d_A, *d_B, *d_C;
    cudaMalloc(&d_A, M * N * sizeof(float));
    cudaMalloc(&d_B, N * K * sizeof(float));
    cudaMalloc(&d_C, M * K * sizeof(float));
    cudaMemcpy(d_A, h_A, M * N * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(d_B, h_B, N * K * sizeof(float), cudaMemcpyHostToDevice);
    matrixMul<<<dim3((K + 31) / 32, (M + 7) / 8), dim3(32, 8)>>>(d_A, d_B, d_C, M, N, K);
    cudaMemcpy(h_C, d_C, M * K * sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(d_A);
    cudaFree(d_B);
    cudaFree(d_C);
}

int main() {
    float *a = (float*)malloc(4 * 64), *b = (float*)malloc(4 * 64), *c = (float*)malloc(4 * 64);
    multiply(a, b, c, 8, 8, 8);
    printf("%f\n", c[0]);
}
