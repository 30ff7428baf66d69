// tile_product.cuh: a tile of a product in fp32, of operands that lie as they like: 64 x 64 elements a block, 4 x 4 a thread, which it sums in
// registers from tiles of both operands in shared memory.
#ifndef TRIAD_TILE_PRODUCT_CUH
#define TRIAD_TILE_PRODUCT_CUH
#include <cuda_runtime.h>

#include "element.cuh"

namespace triad {

// Strided is an operand: element (row, k) lies at row * row_stride + k * k_stride.
template <class T> struct Strided {
	const T *data;
	int64_t row_stride, k_stride;

	__device__ float operator()(int64_t row, int64_t k) const { return to_float(data[row * row_stride + k * k_stride]); }
	Strided turned() const { return {data, k_stride, row_stride}; }
	Strided from(int64_t row) const { return {data + row * row_stride, row_stride, k_stride}; }
};

constexpr int product_threads = 256, product_side = 64, product_depth = 16; // threads of a block, its tile, k of a step

// product_tiles is how many tiles lie beside each other.
__host__ __device__ inline int64_t product_tiles(int64_t size) { return (size + product_side - 1) / product_side; }

struct ProductTiles {
	float a[product_depth][product_side + 1], b[product_depth][product_side + 1];
};

// load_strided brings a step of some rows of an operand to shared memory, zeros beyond it and where k adds nothing. Neighbouring threads read
// neighbours in memory, whichever way the operand lies.
template <class T, class Product>
__device__ void load_strided(float (&to)[product_depth][product_side + 1], const Strided<T> &from, int64_t row0, int64_t rows, int64_t k0,
                             const Product &p) {
	const bool along_k = from.k_stride == 1;
#pragma unroll
	for (int i = static_cast<int>(threadIdx.x); i < product_side * product_depth; i += product_threads) {
		const int row = along_k ? i / product_depth : i % product_side, k = along_k ? i % product_depth : i / product_side;
		const bool inside = row0 + row < rows && k0 + k < p.depth && p.adds(k0 + k);
		to[k][row] = inside ? from(row0 + row, k0 + k) : 0.0f;
	}
}

// tile_product computes sum_k a(row, k) * b(col, k) of a tile and gives store(row, col, sum), beyond the product too. p has the operands a and
// b, rows, cols and depth, and says by adds(k) which k are left out. All threads of a block of product_threads take part.
template <class Product, class Store> __device__ void tile_product(ProductTiles &tiles, const Product &p, int64_t row0, int64_t col0, Store store) {
	constexpr int each = 4;
	const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
	float sum[each][each] = {};
	for (int64_t k0 = 0; k0 < p.depth; k0 += product_depth) {
		load_strided(tiles.a, p.a, row0, p.rows, k0, p);
		load_strided(tiles.b, p.b, col0, p.cols, k0, p);
		__syncthreads();
#pragma unroll
		for (int k = 0; k < product_depth; k++) {
			float left[each], right[each];
#pragma unroll
			for (int i = 0; i < each; i++) left[i] = tiles.a[k][y + 16 * i], right[i] = tiles.b[k][x + 16 * i];
#pragma unroll
			for (int i = 0; i < each; i++)
#pragma unroll
				for (int j = 0; j < each; j++) sum[i][j] += left[i] * right[j];
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < each; i++)
#pragma unroll
		for (int j = 0; j < each; j++) store(row0 + y + 16 * i, col0 + x + 16 * j, sum[i][j]);
}

} // namespace triad
#endif
