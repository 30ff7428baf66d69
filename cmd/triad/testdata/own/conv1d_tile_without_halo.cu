// A convolution with a tile in shared memory, the halo of which is zeros.
#include <cuda_runtime.h>
#define T 64
__global__ void conv(const float *input, const float *kernel, float *output, int n, int k) {
	__shared__ float tile[T + 64];
	int i = blockIdx.x * T + threadIdx.x;
	tile[threadIdx.x] = i < n ? input[i] : 0.0f;
	if (threadIdx.x < 64) tile[T + threadIdx.x] = 0.0f; // the halo is left out
	__syncthreads();
	if (i < n - k + 1) {
		float s = 0;
		for (int j = 0; j < k; j++) s += tile[threadIdx.x + j] * kernel[j];
		output[i] = s;
	}
}
extern "C" void solve(const float *input, const float *kernel, float *output, int input_size, int kernel_size) {
	int m = input_size - kernel_size + 1;
	conv<<<(m + T - 1) / T, T>>>(input, kernel, output, input_size, kernel_size);
	cudaDeviceSynchronize();
}
