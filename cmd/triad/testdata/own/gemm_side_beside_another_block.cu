// Its caller says how many threads each side of a block of the product has; the blocks that clear C have 256.
#include <cuda_runtime.h>
#include <vector>

__global__ void clear(float *C, unsigned int all) {
	const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < all) C[i] = 0.0f;
}

__global__ void product(const float *A, const float *B, float *C, unsigned int n) {
	const unsigned int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= n || col >= n) return;
	for (unsigned int k = 0; k < n; k++) C[row * n + col] += A[row * n + k] * B[k * n + col];
}

void multiply(const float *A, const float *B, float *C, unsigned int n, unsigned int block_dim) {
	const dim3 block(block_dim, block_dim);
	const unsigned int blocks = (n + block_dim - 1) / block_dim;
	clear<<<(n * n + 255) / 256, 256>>>(C, n * n);
	product<<<dim3(blocks, blocks), block>>>(A, B, C, n);
}

int main() {
	const unsigned int n = 64;
	float *A, *B, *C;
	cudaMalloc(&A, n * n * sizeof(float));
	cudaMalloc(&B, n * n * sizeof(float));
	cudaMalloc(&C, n * n * sizeof(float));
	multiply(A, B, C, n, 8);
	cudaDeviceSynchronize();
	return 0;
}
