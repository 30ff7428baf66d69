// As long as its input; the sizes are converted where they are handed on.
#include <cuda_runtime.h>

__global__ void convolve(const float *a, const float *b, float *out, const int size, const int filter_size) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= size) return;
	const int before = (filter_size - 1) / 2;
	float sum = 0;
	for (int j = 0; j < filter_size; j++) {
		const int at = i + j - before;
		if (at >= 0 && at < size) sum += a[at] * b[j];
	}
	out[i] = sum;
}

extern "C" void solution(const float *A, const float *B, float *C, size_t N, size_t K) {
	convolve<<<dim3((N + 127) / 128), 128>>>(A, B, C, (const int) N, static_cast<int>(K));
}
