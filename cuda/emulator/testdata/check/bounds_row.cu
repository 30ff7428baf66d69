// The column of a shared tile runs past its row, into the next one.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void tiles(const float *x, float *y) {
	__shared__ float tile[8][8];
	int r = threadIdx.y, c = threadIdx.x;
	tile[r][c] = x[r * 8 + c];
	__syncthreads();
#ifdef FIXED
	y[r * 8 + c] = c + 1 < 8 ? tile[r][c + 1] : 0;
#else
	y[r * 8 + c] = r < 7 ? tile[r][c + 1] : 0;   // BUG(out-of-bounds)
#endif
}

int main() {
	const int n = 1000;
	static float h[n];
	for (int i = 0; i < n; i++) h[i] = i % 7;
	float *x, *y;
	cudaMalloc(&x, n * sizeof(float));
	cudaMalloc(&y, n * sizeof(float));
	cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
	cudaMemset(y, 0, n * sizeof(float));
	tiles<<<1, dim3(8, 8)>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
