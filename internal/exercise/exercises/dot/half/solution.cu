// dot/half: 16 bits in memory, 32 bits in the sum.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void dot(const __half *a, const __half *b, __half *y, int N) {
	__shared__ float shared[256];
	float sum = 0; // of this thread
	for (int i = threadIdx.x; i < N; i += 256) sum += __half2float(a[i]) * __half2float(b[i]);
	shared[threadIdx.x] = sum;
	__syncthreads();
	for (int half = 128; half > 0; half /= 2) {
		if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0) *y = __float2half(shared[0]);
}

// triad: dot(a=a, b=b, y=y, n=N)
extern "C" void solve(const __half *a, const __half *b, __half *y, int N) {
	dot<<<1, 256>>>(a, b, y, N); // one block, to keep the exercise short
}
