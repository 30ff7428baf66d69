// rope/pairs: a rotation of pairs.
#include <cuda_runtime.h>

// A block for each head of each token.
__global__ void rotate(const float *x, const float *cos, const float *sin, float *out, int seq, int heads, int D) {
	long long at = (long long)blockIdx.x * D;
	int place = blockIdx.x / heads % seq;
	for (int i = threadIdx.x; i < D / 2; i += blockDim.x) {
		float c = cos[(long long)place * (D / 2) + i], s = sin[(long long)place * (D / 2) + i];
		out[at + i] = out[at + i + D / 2] = c + s; // TODO
	}
}

// triad: rope(q=q, k=k, cos=cos, sin=sin, q_out=q_out, k_out=k_out, batch=B, seq=S, heads_q=HQ, heads_k=HK, head_dim=D, interleaved=false, offset=0)
extern "C" void solve(const float *q, const float *k, const float *cos, const float *sin, float *q_out, float *k_out,
                      int B, int S, int HQ, int HK, int D) {
	rotate<<<B * S * HQ, 64>>>(q, cos, sin, q_out, S, HQ, D);
	rotate<<<B * S * HK, 64>>>(k, cos, sin, k_out, S, HK, D);
}
