// A launch that CUDA refuses ends the process, as it does of nothing.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

static void check(cudaError_t error, int line) {
	if (error == cudaSuccess) return;
	std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(error));
	std::exit(9);
}

__global__ void add(int *resultVector, size_t length, const int *vectorOne, const int *vectorTwo) {
	const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < length) resultVector[i] = vectorOne[i] + vectorTwo[i];
}

void addVectors(int *resultVector, size_t length, const int *vectorOne, const int *vectorTwo) {
	add<<<(length + 255) / 256, 256>>>(resultVector, length, vectorOne, vectorTwo);
	check(cudaGetLastError(), __LINE__);
}
