// An honest softmax: the reference for the files in this folder that try to look faster on a GPU.
#include <cuda_runtime.h>
__global__ void softmax_rows(const float *x, float *y, int rows, int cols) {
	__shared__ float part[32];
	const int row = blockIdx.x;
	if (row >= rows) return;
	const float *in = x + (size_t)row * cols;
	float *out = y + (size_t)row * cols;
	float m = -INFINITY;
	for (int c = threadIdx.x; c < cols; c += blockDim.x) m = fmaxf(m, in[c]);
	for (int d = 16; d > 0; d /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, d));
	if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = m;
	__syncthreads();
	m = part[0];
	for (int i = 1; i < blockDim.x / 32; i++) m = fmaxf(m, part[i]);
	__syncthreads();
	float s = 0;
	for (int c = threadIdx.x; c < cols; c += blockDim.x) s += expf(in[c] - m);
	for (int d = 16; d > 0; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);
	if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
	__syncthreads();
	s = 0;
	for (int i = 0; i < blockDim.x / 32; i++) s += part[i];
	for (int c = threadIdx.x; c < cols; c += blockDim.x) out[c] = expf(in[c] - m) / s;
}

extern "C" void solve(const float *x, float *y, int rows, int cols) {
	if (rows > 0 && cols > 0) softmax_rows<<<rows, 256>>>(x, y, rows, cols);
}
