// The caller chooses grid and block; the tile is a number of the template, made for two values.
#include <cuda_runtime.h>

template <int TILE>
__global__ void tiled(float *c, const float *a, const float *b, int m, int n, int k) {
	__shared__ float left[TILE][TILE], right[TILE][TILE];
	const int x = threadIdx.x, y = threadIdx.y;
	const int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
	float sum = 0;
	for (int at = 0; at < k; at += TILE) {
		left[y][x] = row < m && at + x < k ? a[row * k + at + x] : 0;
		right[y][x] = at + y < k && col < n ? b[(at + y) * n + col] : 0;
		__syncthreads();
		for (int i = 0; i < TILE; i++) sum += left[y][i] * right[i][x];
		__syncthreads();
	}
	if (row < m && col < n) c[row * n + col] = sum;
}

template <int TILE>
void multiply(dim3 how_many, dim3 how_large, float *c, const float *a, const float *b, int m, int n, int k) {
	tiled<TILE><<<how_many, how_large>>>(c, a, b, m, n, k);
}

template void multiply<16>(dim3, dim3, float *, const float *, const float *, int, int, int);
template void multiply<32>(dim3, dim3, float *, const float *, const float *, int, int, int);
