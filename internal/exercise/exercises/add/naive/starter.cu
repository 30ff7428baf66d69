// add/naive: one thread for each element.
#include <cuda_runtime.h>

__global__ void add(const float *x, const float *y, float *z, int N) {
	// TODO: find this thread's element, and add it up if there is one.
}

// triad: add(x=x, y=y, z=z, rows=1, cols=N)
extern "C" void solve(const float *x, const float *y, float *z, int N) {
	int threads = 256;
	int blocks = 1; // TODO: enough blocks for N elements
	add<<<blocks, threads>>>(x, y, z, N);
}
