// A row is kept in dynamic shared memory, and more than 48 KiB with what the kernel declares are asked for.
#include <cuda_runtime.h>

__global__ void rmsnorm_kept(const float *x, const float *weight, float *y, int cols, float eps) {
	extern __shared__ float keep[];
	__shared__ float part[8];
	const float *row = x + (size_t)blockIdx.x * cols;
	float q = 0.f;
	for (int j = threadIdx.x; j < cols; j += blockDim.x) { keep[j] = row[j]; q += keep[j] * keep[j]; }
	for (int k = 16; k > 0; k >>= 1) q += __shfl_xor_sync(0xffffffffu, q, k);
	if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = q;
	__syncthreads();
	q = 0.f;
	for (int w = 0; w < 8; ++w) q += part[w];
	float inv = rsqrtf(q / cols + eps);
	for (int j = threadIdx.x; j < cols; j += blockDim.x) y[(size_t)blockIdx.x * cols + j] = keep[j] * inv * weight[j];
}

extern "C" void solve(const float *x, const float *weight, float *y, int rows, int cols, float eps) {
	if (rows == 0) return;
	size_t room = cols * sizeof(float);
	if (room > 40 * 1024) cudaFuncSetAttribute(rmsnorm_kept, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)room);
	rmsnorm_kept<<<rows, 256, room>>>(x, weight, y, cols, eps);
}
