// As conv1d_as_long_as_its_input.cu, but the first element is taken for those before it.
#include <cuda_runtime.h>

__global__ void smooth(const float *A, const float *B, float *C, int length, int half) {
	int at = blockIdx.x * blockDim.x + threadIdx.x;
	if (at >= length) return;
	float sum = 0.0f;
	for (int t = -half; t <= half; t++)
		if (at + t < length) sum += A[max(at + t, 0)] * B[half + t];
	C[at] = sum;
}

void convolve(const float *A, const float *B, float *C, int length, int taps, int block_size) {
	smooth<<<(length + block_size - 1) / block_size, block_size>>>(A, B, C, length, taps / 2);
}
