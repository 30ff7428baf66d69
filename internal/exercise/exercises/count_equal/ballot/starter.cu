// count_equal/ballot: one atomic for each warp.
#include <cuda_runtime.h>

__global__ void count(const int *x, unsigned long long *total, int N, int value) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	// TODO: count this warp's elements that are equal to value, and let one lane add them to *total.
}

// triad: count_equal(x=x, count=total, n=N, value=value)
extern "C" void solve(const int *x, long long *total, int N, int value) {
	cudaMemset(total, 0, sizeof(*total));
	count<<<(N + 255) / 256, 256>>>(x, (unsigned long long *)total, N, value);
}
