// Its caller says how many threads each side of a block has. The first of each tile is left out.
#include <cuda_runtime.h>

__global__ void product(const float *A, const float *B, float *C, unsigned int n) {
	extern __shared__ float room[];
	float *left = room, *right = room + blockDim.x * blockDim.x;
	const unsigned int x = threadIdx.x, y = threadIdx.y, side = blockDim.x;
	const unsigned int row = blockIdx.y * side + y, col = blockIdx.x * side + x;
	float sum = 0.0f;
	for (unsigned int from = 0; from < n; from += side) {
		left[y * side + x] = row < n && from + x < n ? A[row * n + from + x] : 0.0f;
		right[y * side + x] = from + y < n && col < n ? B[(from + y) * n + col] : 0.0f;
		__syncthreads();
		for (unsigned int k = 1; k < side; k++) sum += left[y * side + k] * right[k * side + x];
		__syncthreads();
	}
	if (row < n && col < n) C[row * n + col] = sum;
}

void multiply(const float *A, const float *B, float *C, unsigned int n, unsigned int block_dim) {
	const dim3 block(block_dim, block_dim);
	const unsigned int blocks = (n + block_dim - 1) / block_dim;
	product<<<dim3(blocks, blocks), block, 2 * block_dim * block_dim * sizeof(float)>>>(A, B, C, n);
}
