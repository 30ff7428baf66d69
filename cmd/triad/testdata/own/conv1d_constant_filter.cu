// The filter lies in constant memory, which main() fills.
#include <cuda_runtime.h>

#include <cstdio>

#define MASK_LENGTH 5

__constant__ float mask[MASK_LENGTH];

__global__ void convolve(const float *signal, float *out, int n) {
	const int at = blockIdx.x * blockDim.x + threadIdx.x;
	if (at >= n) return;
	const int begin = at - MASK_LENGTH / 2;
	float sum = 0.0f;
	for (int t = 0; t < MASK_LENGTH; t++)
		if (begin + t >= 0 && begin + t < n) sum += signal[begin + t] * mask[t];
	out[at] = sum;
}

int main() {
	int n = 1000;
	float h_signal[1000], h_mask[MASK_LENGTH] = {1, 2, 3, 2, 1}, *d_signal, *d_out;
	for (int i = 0; i < n; i++) h_signal[i] = i % 7;
	cudaMalloc(&d_signal, n * sizeof(float));
	cudaMalloc(&d_out, n * sizeof(float));
	cudaMemcpy(d_signal, h_signal, n * sizeof(float), cudaMemcpyHostToDevice);
	cudaMemcpyToSymbol(mask, h_mask, MASK_LENGTH * sizeof(float));
	convolve<<<(n + 255) / 256, 256>>>(d_signal, d_out, n);
	cudaMemcpy(h_signal, d_out, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%f\n", h_signal[0]);
	return 0;
}
