// add/vec: 16 bytes for each load.
#include <cuda_runtime.h>

__global__ void add(const float *x, const float *y, float *z, int N) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	// TODO: four elements for this thread, by one load of each input and one store.
	// TODO: the up to three elements that are left over.
}

// triad: add(x=x, y=y, z=z, rows=1, cols=N)
extern "C" void solve(const float *x, const float *y, float *z, int N) {
	add<<<N / 4 / 256 + 1, 256>>>(x, y, z, N);
}
