// copy/coalesced: neighboring threads, neighboring addresses.
#include <cuda_runtime.h>

__global__ void copy(const float *x, float *y, int rows, int cols) {
	int c = blockIdx.x * blockDim.x + threadIdx.x;
	int r = blockIdx.y * blockDim.y + threadIdx.y;
	if (r < rows && c < cols) y[(long long)r * cols + c] = x[(long long)r * cols + c];
}

// triad: copy(x=x, y=y, rows=rows, cols=cols)
extern "C" void solve(const float *x, float *y, int rows, int cols) {
	dim3 block(32, 8);
	dim3 grid((cols + 31) / 32, (rows + 7) / 8);
	copy<<<grid, block>>>(x, y, rows, cols);
}
