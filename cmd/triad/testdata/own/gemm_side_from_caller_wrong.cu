// The side of a block comes from the caller, which hands the width of the tiles over.
#include <cuda_runtime.h>

#define TILE 12

// out = A * B.T, where A is I x J and B is K x J
__global__ void product(float *out, float *A, float *B, int I, int J, int K) {
	__shared__ float left[TILE][TILE], right[TILE][TILE];
	const int row = TILE * blockIdx.y + threadIdx.y, col = TILE * blockIdx.x + threadIdx.x;
	float sum = 0.0f;
	for (int from = 0; from < J; from += TILE) {
		left[threadIdx.y][threadIdx.x] = row < I && from + threadIdx.x < J ? A[row * J + from + threadIdx.x] : 0.0f;
		right[threadIdx.x][threadIdx.y] = col < K && from + threadIdx.y < J ? B[col * J + from + threadIdx.y] : 0.0f;
		__syncthreads();
		for (int i = 0; i + 1 < TILE; i++) sum += left[threadIdx.y][i] * right[threadIdx.x][i];
		__syncthreads();
	}
	if (row < I && col < K) out[row * K + col] = sum;
}

void product_forward(float *out, float *A, float *B, int I, int J, int K, int side_of_a_block) {
	dim3 blocks((K + side_of_a_block - 1) / side_of_a_block, (I + side_of_a_block - 1) / side_of_a_block);
	dim3 threads(side_of_a_block, side_of_a_block);
	product<<<blocks, threads>>>(out, A, B, I, J, K);
}
