// A matrix for tensor cores whose rows begin at addresses that they do not take.
#include <cstdio>
#include <mma.h>

using namespace nvcuda;

#ifdef FIXED
const int ROW = 24;
#else
const int ROW = 20;
#endif

__global__ void twice(const half *a, float *c) {
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
	wmma::fill_fragment(fc, 0.0f);
	wmma::load_matrix_sync(fa, a, ROW);   // BUG(trap)
	wmma::load_matrix_sync(fb, a, ROW);
	wmma::mma_sync(fc, fa, fb, fc);
	wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

int main() {
	static half h[16 * ROW];
	static float out[256];
	for (half &x : h) x = __float2half(1);
	half *a;
	float *c;
	cudaMalloc(&a, sizeof h);
	cudaMalloc(&c, sizeof out);
	cudaMemset(c, 0, sizeof out);
	cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
	twice<<<1, 32>>>(a, c);
	cudaMemcpy(out, c, sizeof out, cudaMemcpyDeviceToHost);
	printf("%g\n", out[17]);
	cudaFree(a);
	cudaFree(c);
}
