#include <cuda_runtime.h>
#include <iostream>
#include <vector>
constexpr int TS = 32;

__global__ void transposeKernel(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[TS][TS + 1];
    int x = blockIdx.x * TS + threadIdx.x;
    int y = blockIdx.y * TS + threadIdx.y;
    if (x < cols && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
    __syncthreads();
    x = blockIdx.y * TS + threadIdx.x;
    y = blockIdx.x * TS + threadIdx.y;
    if (x < cols && y < rows) out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}

// C = A * B, with B given transposed: every thread walks along two rows
__global__ void matmulBT(const float* A, const float* BT, float* C, int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += A[row * K + k] * BT[col * K + k];
        C[row * N + col] = sum;
    }
}

int main() {
    const int M = 48, N = 80, K = 112;
    std::vector<float> hA(M * K, 1.0f), hB(K * N, 2.0f), hC(M * N);
    float *dA, *dB, *dBT, *dC;
    cudaMalloc(&dA, M * K * sizeof(float));
    cudaMalloc(&dB, K * N * sizeof(float));
    cudaMalloc(&dBT, N * K * sizeof(float));
    cudaMalloc(&dC, M * N * sizeof(float));
    cudaMemcpy(dA, hA.data(), M * K * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(dB, hB.data(), K * N * sizeof(float), cudaMemcpyHostToDevice);

    dim3 tb(TS, TS);
    dim3 tg((N + TS - 1) / TS, (K + TS - 1) / TS);
    transposeKernel<<<tg, tb>>>(dB, dBT, K, N);
    dim3 mb(16, 16);
    dim3 mg((N + 15) / 16, (M + 15) / 16);
    matmulBT<<<mg, mb>>>(dA, dBT, dC, M, N, K);
    cudaDeviceSynchronize();

    cudaMemcpy(hC.data(), dC, M * N * sizeof(float), cudaMemcpyDeviceToHost);
    std::cout << "C[0] = " << hC[0] << std::endl;
    cudaFree(dA); cudaFree(dB); cudaFree(dBT); cudaFree(dC);
}
