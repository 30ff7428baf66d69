// The size is copied into an int before it is halved.
#include <cuda_runtime.h>

__global__ void convolve(const float *a, const float *b, float *out, const size_t size, const size_t taps) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const int N = (int) size;
	const int K = (int) taps;
	const int radius = (K - 1) / 2;
	float sum = 0;
	for (int j = 0; j < K; j++) {
		const int at = i + j - radius;
		if (at >= 0 && at < N) sum += a[at] * b[K - 1 - j];
	}
	if (i < N) out[i] = sum;
}

extern "C" void solution(const float *A, const float *B, float *C, size_t N, size_t K) {
	convolve<<<(N + 127) / 128, 128>>>(A, B, C, N, K);
}
