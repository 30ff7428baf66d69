// count_equal/ballot: one atomic for each warp.
#include <cuda_runtime.h>

__global__ void count(const int *x, unsigned long long *total, int N, int value) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned mask = __ballot_sync(0xffffffff, i < N && x[i] == value);
	if (threadIdx.x % 32 == 0) atomicAdd(total, (unsigned long long)__popc(mask));
}

// triad: count_equal(x=x, count=total, n=N, value=value)
extern "C" void solve(const int *x, long long *total, int N, int value) {
	cudaMemset(total, 0, sizeof(*total));
	count<<<(N + 255) / 256, 256>>>(x, (unsigned long long *)total, N, value);
}
