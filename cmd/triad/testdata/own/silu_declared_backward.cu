// silu/backward: a derivative by hand.
#include <cuda_runtime.h>
#include <math.h>

__global__ void silu_backward(const float *x, const float *grad_y, float *grad_x, int N) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= N) return;
	float v = x[i];
	float s = 1 / (1 + expf(-v));
	grad_x[i] = grad_y[i] * (s * (1 + v * (1 - s)));
}

// triad: silu(x=x, grad_y=grad_y, grad_x=grad_x, n=N, pass=backward)
extern "C" void solve(const float *x, const float *grad_y, float *grad_x, int N) {
	silu_backward<<<(N + 255) / 256, 256>>>(x, grad_y, grad_x, N);
}
