// dot/vec: a fused product and sum, four elements at once.
#include <cuda_runtime.h>

__global__ void dot(const float *a, const float *b, float *y, int N) {
	float sum = 0;
	// TODO: this thread's products, by float4, and once in the grid those that are left over.
	for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
	if (threadIdx.x % 32 == 0) atomicAdd(y, sum);
}

// triad: dot(a=a, b=b, y=y, n=N)
extern "C" void solve(const float *a, const float *b, float *y, int N) {
	cudaMemset(y, 0, sizeof(float));
	dot<<<8, 128>>>(a, b, y, N);
}
