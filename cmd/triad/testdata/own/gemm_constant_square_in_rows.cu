// The side of all matrices is a constant. A tile of the second is read in rows.
#include <cuda_runtime.h>

#include <cstdlib>

#define TILE 16
#define N 1024

__global__ void matmul(const float *A, const float *B, float *C) {
	__shared__ float left[TILE][TILE], right[TILE][TILE];
	const int bx = blockIdx.x, by = blockIdx.y, tx = threadIdx.x, ty = threadIdx.y;
	const int row = by * TILE + ty, col = bx * TILE + tx;
	float sum = 0.0f;
	for (int from = 0; from < N; from += TILE) {
		left[ty][tx] = A[row * N + from + tx];
		right[ty][tx] = B[(from + ty) * N + col];
		__syncthreads();
		for (int k = 0; k < TILE; k++) sum += left[ty][k] * right[tx][k];
		__syncthreads();
	}
	C[row * N + col] = sum;
}

int main() {
	const size_t bytes = N * N * sizeof(float);
	float *h_A = (float *)malloc(bytes), *h_C = (float *)malloc(bytes), *d_A, *d_B, *d_C;
	cudaMalloc(&d_A, bytes);
	cudaMalloc(&d_B, bytes);
	cudaMalloc(&d_C, bytes);
	for (int i = 0; i < N * N; i++) h_A[i] = i % N;
	cudaMemcpy(d_A, h_A, bytes, cudaMemcpyHostToDevice);
	cudaMemcpy(d_B, h_A, bytes, cudaMemcpyHostToDevice);
	matmul<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>(d_A, d_B, d_C);
	cudaMemcpy(h_C, d_C, bytes, cudaMemcpyDeviceToHost);
	return 0;
}
