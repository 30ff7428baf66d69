// main() counts all elements as rows times columns, and hands that over beside the columns.
#include <cuda_runtime.h>

#include <cstdlib>

__global__ void softmax_kernel(const float *matrix, float *result, size_t columns, size_t N) {
	size_t row = blockIdx.x;
	if (row * columns >= N) return;
	__shared__ float shared[128];
	const float *x = matrix + row * columns;
	float largest = -INFINITY, sum = 0.0f;
	for (size_t i = threadIdx.x; i < columns; i += blockDim.x) largest = fmaxf(largest, x[i]);
	shared[threadIdx.x] = largest;
	__syncthreads();
	for (int i = 0; i < blockDim.x; i++) largest = fmaxf(largest, shared[i]);
	__syncthreads();
	for (size_t i = threadIdx.x; i < columns; i += blockDim.x) sum += expf(x[i] - largest);
	shared[threadIdx.x] = sum;
	__syncthreads();
	sum = 0.0f;
	for (int i = 0; i < blockDim.x; i++) sum += shared[i];
	for (size_t i = threadIdx.x; i < columns; i += blockDim.x)
		result[row * columns + i] = expf(x[i] - largest) / sum;
}

int main() {
	size_t rows = 512, columns = 2048;
	int count = rows * columns;
	int threads = 128;
	float *host = (float *)malloc(count * sizeof(float));
	for (int i = 0; i < count; i++) host[i] = (float)(rand() % 7);
	float *matrix, *result;
	cudaMalloc(&matrix, count * sizeof(float));
	cudaMalloc(&result, count * sizeof(float));
	cudaMemcpy(matrix, host, count * sizeof(float), cudaMemcpyHostToDevice);
	softmax_kernel<<<rows, threads>>>(matrix, result, columns, count);
	cudaMemcpy(host, result, count * sizeof(float), cudaMemcpyDeviceToHost);
	cudaFree(matrix);
	cudaFree(result);
	free(host);
	return 0;
}
