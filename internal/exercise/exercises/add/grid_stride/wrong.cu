// add/grid_stride: a fixed grid whose threads loop.
#include <cuda_runtime.h>

__global__ void add(const float *x, const float *y, float *z, int N) {
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * blockDim.x) z[i] = x[i] + y[i];
}

// triad: add(x=x, y=y, z=z, rows=1, cols=N)
extern "C" void solve(const float *x, const float *y, float *z, int N) {
	add<<<4, 128>>>(x, y, z, N); // the grid stays as it is
}
