// Products of matrices by warps with wmma: halves into floats, integers into ints, and tf32.
#include <cmath>
#include <cstdio>
#include <mma.h>
#include <vector>

using namespace nvcuda;

// c = a b, one warp for each 16 x 16 of c; b by columns.
template <class In, class Out, int K, class Kept>
__global__ void multiply(const In *a, const In *b, Out *c, int m, int n, int k) {
	const int row = blockIdx.y * 16, col = (blockIdx.x * blockDim.y + threadIdx.y) * 16;
	if (col >= n) return;
	wmma::fragment<wmma::matrix_a, 16, 16, K, Kept, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, K, Kept, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, K, Out> fc;
	wmma::fill_fragment(fc, 0);
	for (int i = 0; i < k; i += K) {
		wmma::load_matrix_sync(fa, a + row * k + i, k);
		wmma::load_matrix_sync(fb, b + col * k + i, k);
		wmma::mma_sync(fc, fa, fb, fc);
	}
	for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] * 2;
	wmma::store_matrix_sync(c + row * n + col, fc, n, wmma::mem_row_major);
}

template <class In, class Out, int K, class Kept> bool is_right(In (*of)(float)) {
	const int m = 32, n = 64, k = 48;
	std::vector<In> a(m * k), b(n * k);
	std::vector<Out> got(m * n);
	for (int i = 0; i < m * k; i++) a[i] = of(i * 5 % 13 - 6);
	for (int i = 0; i < n * k; i++) b[i] = of(i * 3 % 11 - 5);
	In *da, *db;
	Out *dc;
	cudaMalloc(&da, a.size() * sizeof(In));
	cudaMalloc(&db, b.size() * sizeof(In));
	cudaMalloc(&dc, got.size() * sizeof(Out));
	cudaMemcpy(da, a.data(), a.size() * sizeof(In), cudaMemcpyHostToDevice);
	cudaMemcpy(db, b.data(), b.size() * sizeof(In), cudaMemcpyHostToDevice);
	multiply<In, Out, K, Kept><<<dim3(2, 2), dim3(32, 2)>>>(da, db, dc, m, n, k);
	cudaMemcpy(got.data(), dc, got.size() * sizeof(Out), cudaMemcpyDeviceToHost);
	bool right = true;
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			float sum = 0;
			for (int l = 0; l < k; l++) sum += (float)a[i * k + l] * (float)b[j * k + l];
			right = right && (float)got[i * n + j] == 2 * sum;
		}
	cudaFree(da);
	cudaFree(db);
	cudaFree(dc);
	return right;
}

int main() {
	bool right = is_right<half, float, 16, half>([](float v) { return __float2half(v); });
	right = is_right<signed char, int, 16, signed char>([](float v) { return (signed char)v; }) && right;
	right = is_right<float, float, 8, wmma::precision::tf32>([](float v) { return v; }) && right;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
