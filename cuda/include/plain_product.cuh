// plain_product.cuh: the product of two matrices of any strides, for operators that multiply besides what they are about: c[rows, cols] = a b^T with
// sums in fp32, rounded once.
//   plain_product_naive_kernel   a thread for each element, blocks of any size
//   plain_product_kernel         tiles of 64 x 64 (tile_product.cuh), a block of product_threads for each
#ifndef TRIAD_PLAIN_PRODUCT_CUH
#define TRIAD_PLAIN_PRODUCT_CUH
#include "element.cuh"
#include "tile_product.cuh"

namespace triad {

// a is [rows, depth], b [cols, depth], c [rows, cols] and contiguous.
template <class T> struct PlainProduct {
	Strided<T> a, b;
	T *c;
	int64_t rows, cols, depth;

	__device__ bool adds(int64_t) const { return true; }
};

template <class T> __global__ void plain_product_naive_kernel(PlainProduct<T> p) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= p.rows * p.cols) return;
	float sum = 0.0f;
	for (int64_t k = 0; k < p.depth; k++) sum = fmaf(p.a(i / p.cols, k), p.b(i % p.cols, k), sum);
	p.c[i] = from_float<T>(sum);
}

template <class T> __global__ void __launch_bounds__(product_threads) plain_product_kernel(PlainProduct<T> p) {
	__shared__ ProductTiles tiles;
	const int64_t across = product_tiles(p.cols), row0 = blockIdx.x / across * product_side, col0 = blockIdx.x % across * product_side;
	tile_product(tiles, p, row0, col0, [&](int64_t row, int64_t col, float sum) {
		if (row < p.rows && col < p.cols) p.c[row * p.cols + col] = from_float<T>(sum);
	});
}

} // namespace triad
#endif
