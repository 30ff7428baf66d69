// main() launches a kernel alone; the other one, which nothing launches, does not compile.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

__global__ void softmax_of_rows(const float *in, float *out, int rows, int cols) {
	const int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= rows) return;
	float largest = -INFINITY, sum = 0.0f;
	for (int i = 0; i < cols; i++) largest = fmaxf(largest, in[row * cols + i]);
	for (int i = 0; i < cols; i++) sum += expf(in[row * cols + i] - largest);
	for (int i = 0; i < cols; i++) out[row * cols + i] = expf(in[row * cols + i] - largest) / sum;
}

__global__ void online_softmax(const float *in, float *out, int rows, int cols) {
	const int row = blockIdx.x;
	if (row >= rows) return;
	float largest = -INFINITY, sum = 0.0f;
	for (int i = 0; i < cols; i++) {
		const float befor = largest;
		largest = fmaxf(largest, in[row * cols + i]);
		if (largest > -INFINITY) sum = sum * expf(before - largest) + expf(in[row * cols + i] - largest);
	}
	for (int i = threadIdx.x; i < cols; i += blockDim.x)
		out[row * cols + i] = expf(in[row * cols + i] - largest) / sum;
}

int main() {
	int rows = 64, cols = 100;
	float *h_in = (float *)malloc(rows * cols * sizeof(float));
	float *h_out = (float *)malloc(rows * cols * sizeof(float));
	float *d_in, *d_out;
	for (int i = 0; i < rows * cols; i++) h_in[i] = (float)(i % 10);
	cudaMalloc(&d_in, rows * cols * sizeof(float));
	cudaMalloc(&d_out, rows * cols * sizeof(float));
	cudaMemcpy(d_in, h_in, rows * cols * sizeof(float), cudaMemcpyHostToDevice);
	int threads = 32;
	int blocks = (rows + threads - 1) / threads;
	softmax_of_rows<<<blocks, threads>>>(d_in, d_out, rows, cols);
	cudaMemcpy(h_out, d_out, rows * cols * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%f\n", h_out[0]);
	return 0;
}
