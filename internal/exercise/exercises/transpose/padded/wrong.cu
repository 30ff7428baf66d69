// transpose/padded: a tile without bank conflicts.
#include <cuda_runtime.h>

__global__ void transpose(const float *x, float *y, int rows, int cols) {
	__shared__ float tile[32][33];
	int c = blockIdx.x * 32 + threadIdx.x;
	int r = blockIdx.y * 32 + threadIdx.y;
	for (int i = 0; i < 32; i += 8) {
		if (r + i < rows && c < cols) tile[threadIdx.y + i][threadIdx.x] = x[(long long)(r + i) * cols + c];
	}
	__syncthreads();
	c = blockIdx.y * 32 + threadIdx.x; // of y
	r = blockIdx.x * 32 + threadIdx.y;
	for (int i = 0; i < 32; i += 8) {
		if (r + i < rows && c < cols) y[(long long)(r + i) * rows + c] = tile[threadIdx.x][threadIdx.y + i];
	}
}

// triad: transpose(x=x, y=y, rows=rows, cols=cols)
extern "C" void solve(const float *x, float *y, int rows, int cols) {
	dim3 grid((cols + 31) / 32, (rows + 31) / 32);
	transpose<<<grid, dim3(32, 8)>>>(x, y, rows, cols);
}
