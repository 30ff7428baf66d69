// flash_attention/online: no scores in memory.
#include <cuda_runtime.h>
#include <math.h>

// 16 x 16 threads: threadIdx.y is the query of the block, threadIdx.x the key of the tile, and every 16th column of the
// result. The 16 threads of a query are neighbors in a warp. D is at most 256.
__global__ void attention(const float *q, const float *k, const float *v, float *o, int M, int N, int D) {
	extern __shared__ float shared[];
	float *tile_q = shared, *tile = shared + 16 * D;
	__shared__ float p[16][16];
	int tx = threadIdx.x, ty = threadIdx.y;
	int i = blockIdx.x * 16 + ty;
	q += (long long)blockIdx.y * M * D;
	k += (long long)blockIdx.y * N * D;
	v += (long long)blockIdx.y * N * D;
	o += (long long)blockIdx.y * M * D;
	for (int d = tx; d < D; d += 16) tile_q[ty * D + d] = i < M ? q[(long long)i * D + d] : 0;
	float max = -INFINITY, sum = 0, acc[16];
	for (int n = 0; n < 16; n++) acc[n] = 0;
	for (int start = 0; start < N; start += 16) {
		__syncthreads();
		for (int d = tx; d < D; d += 16) tile[ty * D + d] = start + ty < N ? k[(long long)(start + ty) * D + d] : 0;
		__syncthreads();
		float s = 0;
		for (int d = 0; d < D; d++) s += tile_q[ty * D + d] * tile[tx * D + d];
		s = start + tx < N ? s / sqrtf(D) : -INFINITY;
		float larger = fmaxf(max, s);
		for (int d = 8; d > 0; d /= 2) larger = fmaxf(larger, __shfl_xor_sync(0xffffffff, larger, d, 16));
		float e = s == -INFINITY ? 0 : expf(s - larger);
		float rescale = max == larger ? 1 : expf(max - larger);
		max = larger;
		p[ty][tx] = e;
		for (int d = 8; d > 0; d /= 2) e += __shfl_xor_sync(0xffffffff, e, d, 16);
		sum = sum * rescale + e;
		__syncthreads();
		for (int d = tx; d < D; d += 16) tile[ty * D + d] = start + ty < N ? v[(long long)(start + ty) * D + d] : 0;
		__syncthreads();
		for (int n = 0; tx + n * 16 < D; n++) {
			float part = 0;
			for (int j = 0; j < 16; j++) part += p[ty][j] * tile[j * D + tx + n * 16];
			acc[n] = acc[n] + part;
		}
	}
	if (i >= M) return;
	for (int n = 0; tx + n * 16 < D; n++) o[(long long)i * D + tx + n * 16] = acc[n] / sum;
}

// triad: flash_attention(q=q, k=k, v=v, o=o, batch=1, heads_q=heads_kv=H, seq_q=M, seq_kv=N, head_dim=D)
extern "C" void solve(const float *q, const float *k, const float *v, float *o, int H, int M, int N, int D) {
	attention<<<dim3((M + 15) / 16, H), dim3(16, 16), 2 * 16 * D * sizeof(float)>>>(q, k, v, o, M, N, D);
}
