// The library's function rounds the grid up, and the profiler's marks stand around the launch.
#include <cuda/cmath>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

__global__ void transposed(const float *x, float *y, int rows, int cols) {
	int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
	if (row < rows && col < cols) y[col * rows + row] = x[row * cols + col];
}

extern "C" void solve(const float *x, float *y, int rows, int cols) {
	nvtxRangePush("transpose");
	dim3 block(16, 16), grid(cuda::round_down(cols, 16) / 16, cuda::ceil_div(rows, 16));
	if (grid.x > 0 && grid.y > 0) transposed<<<grid, block>>>(x, y, rows, cols);
	nvtxRangePop();
}
