// A thread for each element of one block, with room for all.
#include <cuda_runtime.h>

__global__ void sumUp(const int *input, int *output, int N) {
	__shared__ int part[1024];
	int tid = threadIdx.x;
	part[tid] = input[tid];
	__syncthreads();
	for (int stride = 1; stride < N; stride *= 2) {
		if (tid % (2 * stride) == 0 && tid + stride < N) part[tid] += part[tid + stride];
		__syncthreads();
	}
	if (tid == 0) output[0] = part[0];
}

int main() {
	const int N = 8;
	int *input, *output;
	cudaMalloc(&input, N * sizeof(int));
	cudaMalloc(&output, sizeof(int));
	sumUp<<<1, N>>>(input, output, N);
	cudaDeviceSynchronize();
}
