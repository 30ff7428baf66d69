// One thread a query. Q, K, V and O are [B, S, H, D].
#include <math.h>

__global__ void attend(const float *Q, const float *K, const float *V, float *O, int B, int H, int S, int D) {
	int s = blockIdx.x * blockDim.x + threadIdx.x, h = blockIdx.y, b = blockIdx.z;
	if (s >= S) return;
	const long step = (long)H * D;
	const float *q = Q + ((long)b * S + s) * step + h * D, *k = K + (long)b * S * step + h * D;
	const float *v = V + (long)b * S * step + h * D;
	float *o = O + ((long)b * S + s) * step + h * D;
	float m = -INFINITY, sum = 0;
	for (int t = 0; t < S; t++) {
		float dot = 0;
		for (int d = 0; d < D; d++) dot += q[d] * k[t * step + d];
		m = fmaxf(m, dot / sqrtf(D));
	}
	for (int d = 0; d < D; d++) o[d] = 0;
	for (int t = 0; t < S; t++) {
		float dot = 0;
		for (int d = 0; d < D; d++) dot += q[d] * k[t * step + d];
		float p = expf(dot / sqrtf(D) - m);
		sum += p;
		for (int d = 0; d < D; d++) o[d] += p * v[t * step + d];
	}
	for (int d = 0; d < D; d++) o[d] /= sum;
}

extern "C" void solve(const float *Q, const float *K, const float *V, float *O, int B, int H, int S, int D) {
	if (B * H * S == 0) return;
	attend<<<dim3((S + 63) / 64, H, B), 64>>>(Q, K, V, O, B, H, S, D);
}
