// copy/coalesced: neighboring threads, neighboring addresses.
#include <cuda_runtime.h>

__global__ void copy(const float *x, float *y, int rows, int cols) {
	// TODO: this thread's row and column, and the copy of one element.
}

// triad: copy(x=x, y=y, rows=rows, cols=cols)
extern "C" void solve(const float *x, float *y, int rows, int cols) {
	dim3 block(32, 8);
	dim3 grid(1, 1); // TODO: enough blocks along both axes
	copy<<<grid, block>>>(x, y, rows, cols);
}
