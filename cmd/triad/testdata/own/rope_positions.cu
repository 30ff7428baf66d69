// Each token says its position, which chooses the row of both tables.
#include <cuda_runtime.h>

__global__ void rotate(float *q, float *k, const float *cos_cache, const float *sin_cache, const int *positions,
	int heads, int head_dim) {
	const int token = blockIdx.x / heads, half = head_dim / 2;
	const int row = positions[token];
	for (int i = threadIdx.x; i < half; i += blockDim.x) {
		const float c = cos_cache[row * half + i], s = sin_cache[row * half + i];
		for (float *x : {q, k}) {
			float *head = x + static_cast<size_t>(blockIdx.x) * head_dim;
			const float a = head[i], b = head[i + half];
			head[i] = a * c - b * s;
			head[i + half] = b * c + a * s;
		}
	}
}

extern "C" void rope(float *q, float *k, const float *cos_cache, const float *sin_cache, const int *positions,
	int seq_len, int num_heads, int head_dim) {
	rotate<<<seq_len * num_heads, 64>>>(q, k, cos_cache, sin_cache, positions, num_heads, head_dim);
}
