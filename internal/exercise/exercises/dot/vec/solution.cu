// dot/vec: a fused product and sum, four elements at once.
#include <cuda_runtime.h>

__global__ void dot(const float *a, const float *b, float *y, int N) {
	float sum = 0;
	const float4 *a4 = reinterpret_cast<const float4 *>(a);
	const float4 *b4 = reinterpret_cast<const float4 *>(b);
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N / 4; i += blockDim.x * gridDim.x) {
		float4 p = a4[i], q = b4[i];
		sum += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
	}
	if (blockIdx.x == 0 && threadIdx.x == 0) {
		for (int i = N / 4 * 4; i < N; i++) sum += a[i] * b[i];
	}
	for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
	if (threadIdx.x % 32 == 0) atomicAdd(y, sum);
}

// triad: dot(a=a, b=b, y=y, n=N)
extern "C" void solve(const float *a, const float *b, float *y, int N) {
	cudaMemset(y, 0, sizeof(float));
	dot<<<8, 128>>>(a, b, y, N);
}
