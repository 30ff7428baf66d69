// prefix_sum/scan: running sums in a block.
#include <cuda_runtime.h>

__global__ void scan(const float *x, float *y, int N) {
	__shared__ float shared[256];
	float carry = 0;
	for (int start = 0; start < N; start += 256) {
		int i = start + threadIdx.x;
		shared[threadIdx.x] = i < N ? x[i] : 0;
		__syncthreads();
		for (int d = 1; d < 256; d *= 2) {
			float before = threadIdx.x >= d ? shared[threadIdx.x - d] : 0;
			shared[threadIdx.x] += before;
			__syncthreads();
		}
		if (i < N) y[i] = carry + shared[threadIdx.x];
		carry += shared[255];
		__syncthreads();
	}
}

// triad: prefix_sum(x=x, y=y, n=N)
extern "C" void solve(const float *x, float *y, int N) {
	scan<<<1, 256>>>(x, y, N);
}
