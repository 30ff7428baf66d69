// relu/nan: NaN stays NaN.
#include <cuda_runtime.h>

__global__ void relu(const float *x, float *y, int N) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= N) return;
	float v = x[i];
	y[i] = fmaxf(v, 0);
}

// triad: relu(x=x, y=y, n=N)
extern "C" void solve(const float *x, float *y, int N) {
	relu<<<(N + 255) / 256, 256>>>(x, y, N);
}
