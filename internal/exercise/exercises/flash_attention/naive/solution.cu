// flash_attention/naive: attention in three kernels.
#include <cuda_runtime.h>
#include <math.h>

// A thread for each pair of query and key.
__global__ void scores(const float *q, const float *k, float *s, int M, int N, int D) {
	int j = blockIdx.x * blockDim.x + threadIdx.x;
	int i = blockIdx.y;
	if (j >= N) return;
	q += ((long long)blockIdx.z * M + i) * D;
	k += ((long long)blockIdx.z * N + j) * D;
	float sum = 0;
	for (int d = 0; d < D; d++) sum += q[d] * k[d];
	s[((long long)blockIdx.z * M + i) * N + j] = sum / sqrtf(D);
}

// A warp for each row.
__global__ void softmax(float *s, int rows, int N) {
	int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	int lane = threadIdx.x % 32;
	if (row >= rows) return;
	s += (long long)row * N;
	float max = -INFINITY, sum = 0;
	for (int j = lane; j < N; j += 32) max = fmaxf(max, s[j]);
	for (int d = 16; d > 0; d /= 2) max = fmaxf(max, __shfl_xor_sync(0xffffffff, max, d));
	for (int j = lane; j < N; j += 32) sum += expf(s[j] - max);
	for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
	for (int j = lane; j < N; j += 32) s[j] = expf(s[j] - max) / sum;
}

// A thread for each element of the result.
__global__ void weighted(const float *p, const float *v, float *o, int M, int N, int D) {
	int d = blockIdx.x * blockDim.x + threadIdx.x;
	int i = blockIdx.y;
	if (d >= D) return;
	p += ((long long)blockIdx.z * M + i) * N;
	v += (long long)blockIdx.z * N * D;
	float sum = 0;
	for (int j = 0; j < N; j++) sum += p[j] * v[(long long)j * D + d];
	o[((long long)blockIdx.z * M + i) * D + d] = sum;
}

// triad: flash_attention(q=q, k=k, v=v, o=o, batch=1, heads_q=heads_kv=H, seq_q=M, seq_kv=N, head_dim=D)
extern "C" void solve(const float *q, const float *k, const float *v, float *o, int H, int M, int N, int D) {
	float *s;
	cudaMalloc(&s, (long long)H * M * N * sizeof(float));
	scores<<<dim3((N + 63) / 64, M, H), 64>>>(q, k, s, M, N, D);
	softmax<<<(H * M + 3) / 4, 128>>>(s, H * M, N);
	weighted<<<dim3((D + 63) / 64, M, H), 64>>>(s, v, o, M, N, D);
	cudaFree(s);
}
