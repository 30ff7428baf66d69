// split_product.cuh: a product of few elements, each a long sum, in fp32: tiles of 64 x 64 (tile_product.cuh) of parts of the sum, so that there are
// blocks enough, and a kernel that adds the parts up. Always in the same order.
#ifndef TRIAD_SPLIT_PRODUCT_CUH
#define TRIAD_SPLIT_PRODUCT_CUH
#include "call.cuh"
#include "rows.cuh"
#include "tile_product.cuh"

namespace triad {

// SplitProduct is y[i,j] = sum_k a[i,k] b[j,k]; y is contiguous, and sums has split_floats.
template <class A, class B> struct SplitProduct {
	Strided<A> a;
	Strided<B> b;
	B *y;
	float *sums;
	int64_t rows, cols, depth;

	__device__ bool adds(int64_t) const { return true; }
};

constexpr int64_t split_depth = 128; // k of a part
__host__ __device__ inline int64_t split_parts(int64_t depth) { return (depth + split_depth - 1) / split_depth; }
inline int64_t split_floats(int64_t rows, int64_t cols, int64_t depth) { return split_parts(depth) * rows * cols; }

template <class A, class B> __global__ void __launch_bounds__(product_threads) split_product_kernel(SplitProduct<A, B> p) {
	__shared__ ProductTiles tiles;
	const int64_t down = product_tiles(p.rows), across = product_tiles(p.cols), part = blockIdx.x / (down * across), first = part * split_depth;
	p.a.data += first * p.a.k_stride, p.b.data += first * p.b.k_stride;
	p.depth = p.depth - first < split_depth ? p.depth - first : split_depth;
	tile_product(tiles, p, blockIdx.x / across % down * product_side, blockIdx.x % across * product_side, [&](int64_t row, int64_t col, float sum) {
		if (row < p.rows && col < p.cols) p.sums[(part * p.rows + row) * p.cols + col] = sum;
	});
}

template <class A, class B> __global__ void __launch_bounds__(product_threads) split_sum_kernel(SplitProduct<A, B> p) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(product_threads) + threadIdx.x, all = p.rows * p.cols;
	if (i >= all) return;
	LongSum sum;
	for (int64_t part = 0; part < split_parts(p.depth); part++) sum.add(p.sums[part * all + i]);
	p.y[i] = from_float<B>(sum.total());
}

// split_product launches both; y has elements.
template <class A, class B> void split_product(const SplitProduct<A, B> &p, cudaStream_t stream) {
	const int64_t tiles = split_parts(p.depth) * product_tiles(p.rows) * product_tiles(p.cols);
	if (tiles > 0) split_product_kernel<<<static_cast<unsigned>(tiles), product_threads, 0, stream>>>(p);
	split_sum_kernel<<<blocks_for(p.rows * p.cols, product_threads), product_threads, 0, stream>>>(p);
}

} // namespace triad
#endif
