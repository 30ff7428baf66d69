// main() lets the kernel have more shared memory than 48 KiB; the function that launches it relies on that.
#include <cuda_runtime.h>

#include <cstdio>

template <int THREADS>
__global__ void softmax_rows(const float *x, float *y, int cols) {
	extern __shared__ float row[];
	__shared__ float parts[THREADS];
	const float *from = x + (size_t)blockIdx.x * cols;
	float largest = -INFINITY, sum = 0.0f;
	for (int j = threadIdx.x; j < cols; j += THREADS) largest = fmaxf(largest, row[j] = from[j]);
	parts[threadIdx.x] = largest;
	__syncthreads();
	for (int j = 0; j < THREADS; j++) largest = fmaxf(largest, parts[j]);
	__syncthreads();
	for (int j = threadIdx.x; j < cols; j += THREADS) sum += row[j] = expf(row[j] - largest);
	parts[threadIdx.x] = sum;
	__syncthreads();
	sum = 0.0f;
	for (int j = 1; j < THREADS; j++) sum += parts[j];
	for (int j = threadIdx.x; j < cols; j += THREADS) y[(size_t)blockIdx.x * cols + j] = row[j] / sum;
}

void launch_softmax(const float *x, float *y, int rows, int cols) {
	constexpr int THREADS = 64;
	softmax_rows<THREADS><<<rows, THREADS, 96 * 1024>>>(x, y, cols);
}

int main() {
	constexpr int THREADS = 64;
	const int rows = 16, cols = 20000;
	cudaFuncSetAttribute(softmax_rows<THREADS>, cudaFuncAttributeMaxDynamicSharedMemorySize, 96 * 1024);
	float *x, *y;
	cudaMalloc(&x, rows * cols * sizeof(float));
	cudaMalloc(&y, rows * cols * sizeof(float));
	cudaMemset(x, 0, rows * cols * sizeof(float));
	launch_softmax(x, y, rows, cols);
	printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
	cudaFree(x);
	cudaFree(y);
	return 0;
}
