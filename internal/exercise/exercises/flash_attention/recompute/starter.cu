// flash_attention/recompute: probabilities are made again, not stored.
#include <cuda_runtime.h>
#include <math.h>

__device__ float dot(const float *a, const float *b, int D) {
	float sum = 0;
	for (int d = threadIdx.x; d < D; d += 32) sum += a[d] * b[d];
	for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
	return sum;
}

// A warp for each query.
__global__ void of_queries(const float *q, const float *k, const float *v, const float *o, const float *lse,
                           const float *grad_o, float *grad_q, int M, int N, int D) {
	long long i = (long long)blockIdx.y * M + blockIdx.x;
	k += (long long)blockIdx.y * N * D;
	v += (long long)blockIdx.y * N * D;
	float scale = 1 / sqrtf(D);
	float of_q[8] = {0, 0, 0, 0, 0, 0, 0, 0}; // every 32nd column, up to 256
	// TODO: delta, and for each key its probability, the gradient of its score, and of_q.
	for (int d = threadIdx.x, n = 0; d < D; d += 32, n++) grad_q[i * D + d] = of_q[n];
}

// A warp for each key.
__global__ void of_keys(const float *q, const float *k, const float *v, const float *o, const float *lse,
                        const float *grad_o, float *grad_k, float *grad_v, int M, int N, int D) {
	long long j = (long long)blockIdx.y * N + blockIdx.x, head = (long long)blockIdx.y * M;
	q += head * D;
	o += head * D;
	lse += head;
	grad_o += head * D;
	float scale = 1 / sqrtf(D);
	float of_k[8] = {0, 0, 0, 0, 0, 0, 0, 0}, of_v[8] = {0, 0, 0, 0, 0, 0, 0, 0};
	// TODO: the same over queries.
	for (int d = threadIdx.x, n = 0; d < D; d += 32, n++) {
		grad_k[j * D + d] = of_k[n];
		grad_v[j * D + d] = of_v[n];
	}
}

// triad: flash_attention(q=q, k=k, v=v, o=o, lse=lse, grad_o=grad_o, grad_q=grad_q, grad_k=grad_k, grad_v=grad_v, batch=1, heads_q=heads_kv=H, seq_q=M, seq_kv=N, head_dim=D, pass=backward)
extern "C" void solve(const float *q, const float *k, const float *v, const float *o, const float *lse,
                      const float *grad_o, float *grad_q, float *grad_k, float *grad_v, int H, int M, int N, int D) {
	of_queries<<<dim3(M, H), 32>>>(q, k, v, o, lse, grad_o, grad_q, M, N, D);
	of_keys<<<dim3(N, H), 32>>>(q, k, v, o, lse, grad_o, grad_k, grad_v, M, N, D);
}
