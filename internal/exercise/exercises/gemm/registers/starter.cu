// gemm/registers: several results for each thread.
#include <cuda_runtime.h>

__global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K) {
	__shared__ float tile_a[64][16], tile_b[16][16];
	int j = blockIdx.x * 16 + threadIdx.x;
	int i = blockIdx.y * 64 + threadIdx.y * 4; // the first of this thread's four rows
	float sum[4] = {0, 0, 0, 0};
	// TODO: as in gemm/tiled, with four rows for each thread.
}

// triad: gemm(a=A, b=B, y=C, batch=1, m=M, n=N, k=K)
extern "C" void solve(const float *A, const float *B, float *C, int M, int N, int K) {
	dim3 grid((N + 15) / 16, (M + 63) / 64);
	gemm<<<grid, dim3(16, 16)>>>(A, B, C, M, N, K);
}
