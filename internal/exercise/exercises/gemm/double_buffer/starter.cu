// gemm/double_buffer: the next tile is loaded while this one is used.
#include <cuda_runtime.h>

__device__ void load(const float *A, const float *B, float (*tile_a)[16], float (*tile_b)[16], int i, int j, int t, int M,
                     int N, int K) {
	tile_a[threadIdx.y][threadIdx.x] = i < M && t + threadIdx.x < K ? A[(long long)i * K + t + threadIdx.x] : 0;
	tile_b[threadIdx.y][threadIdx.x] = t + threadIdx.y < K && j < N ? B[(long long)(t + threadIdx.y) * N + j] : 0;
}

__global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K) {
	__shared__ float tile_a[2][16][16], tile_b[2][16][16];
	int j = blockIdx.x * 16 + threadIdx.x;
	int i = blockIdx.y * 16 + threadIdx.y;
	float sum = 0;
	// TODO: one barrier for each step; load() fills a pair of tiles.
	if (i < M && j < N) C[(long long)i * N + j] = sum;
}

// triad: gemm(a=A, b=B, y=C, batch=1, m=M, n=N, k=K)
extern "C" void solve(const float *A, const float *B, float *C, int M, int N, int K) {
	dim3 grid((N + 15) / 16, (M + 15) / 16);
	gemm<<<grid, dim3(16, 16)>>>(A, B, C, M, N, K);
}
