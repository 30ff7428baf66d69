// gemm/tiled: tiles of both matrices in shared memory.
#include <cuda_runtime.h>

__global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K) {
	__shared__ float tile_a[16][16], tile_b[16][16];
	int j = blockIdx.x * 16 + threadIdx.x;
	int i = blockIdx.y * 16 + threadIdx.y;
	float sum = 0;
	// TODO: for each 16 of the K products: load a tile of A and one of B, wait, multiply, wait.
	if (i < M && j < N) C[(long long)i * N + j] = sum;
}

// triad: gemm(a=A, b=B, y=C, batch=1, m=M, n=N, k=K)
extern "C" void solve(const float *A, const float *B, float *C, int M, int N, int K) {
	dim3 grid((N + 15) / 16, (M + 15) / 16);
	gemm<<<grid, dim3(16, 16)>>>(A, B, C, M, N, K);
}
