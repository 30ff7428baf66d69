// reverse/naive: where an element goes.
#include <cuda_runtime.h>

__global__ void reverse(const float *x, float *y, int N) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < N) y[N - 1 - i] = x[i];
}

// triad: reverse(x=x, y=y, n=N)
extern "C" void solve(const float *x, float *y, int N) {
	reverse<<<(N + 255) / 256, 256>>>(x, y, N);
}
