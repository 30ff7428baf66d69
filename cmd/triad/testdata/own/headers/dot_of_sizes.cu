// Its sizes are constants of a header; main() stands in another file.
#include "sizes.h"

__global__ void dot(const float *first, const float *second, float *partial) {
	__shared__ float sums[threadsOfBlock];
	float sum = 0.0f;
	for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < length; i += blockDim.x * gridDim.x)
		sum += first[i] * second[i];
	sums[threadIdx.x] = sum;
	__syncthreads();
	for (int half = blockDim.x / 2; half > 0; half /= 2) {
		if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
}
