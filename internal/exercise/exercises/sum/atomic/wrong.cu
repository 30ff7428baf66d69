// sum/atomic: many threads, one address.
#include <cuda_runtime.h>

__global__ void sum(const float *x, float *y, int N) {
	float sum = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += blockDim.x * gridDim.x) sum += x[i];
	*y += sum;
}

// triad: sum(x=x, y=y, n=N)
extern "C" void solve(const float *x, float *y, int N) {
	cudaMemset(y, 0, sizeof(float));
	sum<<<16, 64>>>(x, y, N);
}
