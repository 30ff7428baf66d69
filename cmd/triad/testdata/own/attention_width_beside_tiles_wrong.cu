// The width of a head is a constant, and so is the side of its tiles: only the first one is the length of a row.
#include <cuda_runtime.h>

#define SIDE 16
#define DEPTH 32

__global__ void attend(const float *Q, const float *K, const float *V, float *O, int seq_q, int seq_kv) {
	const int row = blockIdx.x * SIDE + threadIdx.x;
	if (row >= seq_q) return;
	const float scale = rsqrtf((float)DEPTH);
	float sums[DEPTH], largest = -INFINITY, total = 0.0f;
	for (int d = 0; d < DEPTH; d++) sums[d] = 0.0f;
	for (int tile = 0; tile * SIDE < seq_kv; tile++) {
		for (int j = 0; j < SIDE && tile * SIDE + j < seq_kv; j++) {
			float s = 0.0f;
			for (int d = 0; d < DEPTH; d++) s += Q[row * DEPTH + d] * K[(tile * SIDE + j) * DEPTH + d];
			s *= scale;
			const float before = largest;
			largest = fmaxf(largest, s);
			const float old = expf(before - largest), p = expf(s - largest);
			total = total + p;
			for (int d = 0; d < DEPTH; d++) sums[d] = sums[d] * old + p * V[(tile * SIDE + j) * DEPTH + d];
		}
	}
	for (int d = 0; d < DEPTH; d++) O[row * DEPTH + d] = sums[d] / total;
}

extern "C" void attention(const float *Q, const float *K, const float *V, float *O, int seq_q, int seq_kv) {
	attend<<<(seq_q + SIDE - 1) / SIDE, SIDE>>>(Q, K, V, O, seq_q, seq_kv);
}
