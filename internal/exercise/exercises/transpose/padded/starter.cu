// transpose/padded: a tile without bank conflicts.
#include <cuda_runtime.h>

__global__ void transpose(const float *x, float *y, int rows, int cols) {
	// TODO: a tile whose columns are spread over all banks; four elements for each thread, 8 rows apart.
}

// triad: transpose(x=x, y=y, rows=rows, cols=cols)
extern "C" void solve(const float *x, float *y, int rows, int cols) {
	dim3 grid((cols + 31) / 32, (rows + 31) / 32);
	transpose<<<grid, dim3(32, 8)>>>(x, y, rows, cols);
}
