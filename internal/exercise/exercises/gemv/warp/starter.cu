// gemv/warp: a warp for each row of a matrix.
#include <cuda_runtime.h>

__global__ void gemv(const float *a, const float *x, float *y, int rows, int cols) {
	int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	int lane = threadIdx.x % 32;
	if (row >= rows) return;
	// TODO: this warp's row times x.
}

// triad: gemv(a=a, x=x, y=y, rows=rows, cols=cols)
extern "C" void solve(const float *a, const float *x, float *y, int rows, int cols) {
	gemv<<<(rows + 3) / 4, 128>>>(a, x, y, rows, cols);
}
