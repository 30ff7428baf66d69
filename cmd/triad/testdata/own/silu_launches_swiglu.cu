// Another operator, as the name of its kernel says.
#include <cuda_runtime.h>

__global__ void swiglu_kernel(const float *input, float *output, int half) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < half) output[i] = input[half + i] * (input[i] / (1 + expf(-input[i])));
}

extern "C" void solve(const float *input, float *output, int N) {
	swiglu_kernel<<<(N / 2 + 255) / 256, 256>>>(input, output, N / 2);
}
