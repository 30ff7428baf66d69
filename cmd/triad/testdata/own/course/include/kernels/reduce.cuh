#pragma once

template <class Combine> __device__ float block_reduce(float v, float start, Combine combine) {
	__shared__ float parts[32];
	for (int o = 16; o > 0; o /= 2) v = combine(v, __shfl_xor_sync(0xffffffff, v, o));
	if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
	__syncthreads();
	v = start;
	for (int w = 0; w < blockDim.x / 32; w++) v = combine(v, parts[w]);
	__syncthreads();
	return v;
}

__device__ inline float block_max(float v) {
	return block_reduce(v, -INFINITY, [](float a, float b) { return fmaxf(a, b); });
}

__device__ inline float block_sum(float v) {
	return block_reduce(v, 0.0f, [](float a, float b) { return a + b; });
}
