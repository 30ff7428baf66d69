#include <cuda_runtime.h>

// Threads behind the end leave their place of the shared memory as it was.
__global__ void dotProduct(const float *A, const float *B, float *result, int N) {
	__shared__ float cache[256];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < N) {
		cache[threadIdx.x] = A[i] * B[i];
	}
	__syncthreads();
	for (int s = blockDim.x / 2; s > 0; s >>= 1) {
		if (threadIdx.x < s) {
			cache[threadIdx.x] += cache[threadIdx.x + s];
		}
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		atomicAdd(result, cache[0]);
	}
}

extern "C" void solve(const float *A, const float *B, float *result, int N) {
	cudaMemset(result, 0, sizeof(float));
	dotProduct<<<(N + 255) / 256, 256>>>(A, B, result, N);
	cudaDeviceSynchronize();
}
