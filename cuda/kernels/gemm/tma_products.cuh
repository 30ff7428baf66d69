// tma_products.cuh: what the kernels of sm90_tma share: the maps of operands, and where sums go.
#ifndef TRIAD_GEMM_TMA_PRODUCTS_CUH
#define TRIAD_GEMM_TMA_PRODUCTS_CUH
#include "hopper/pair_halves.cuh"
#include "hopper/pair_product.cuh"
#include "hopper/store_sums.cuh"
#include "product.cuh"

namespace triad {
namespace gemm {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// store_product: y = alpha d + beta c for a warpgroup's 64 rows from a place on. wide: see stores_wide.
template <class T, int Eights>
__device__ inline void store_product(const Product<T> &p, bool wide, const float (&d)[Eights][4], const hopper::PairPlace &at) {
	const int64_t row = at.row + hopper::accumulator_row(static_cast<int>(threadIdx.x) % 128, 0);
	const hopper::SumsPlace<T> to = {p.y + at.matrix * p.m * p.n, p.m, p.n, row, at.col};
	if (p.c == nullptr && wide) return hopper::store_wide(d, to, [&](float sum) { return p.alpha * sum; });
	const T *const c = p.c == nullptr ? nullptr : p.c + at.matrix * p.m * p.n;
	hopper::store_each(d, to, [&](float sum, int64_t i) {
		const float value = p.alpha * sum;
		return c == nullptr ? value : value + p.beta * to_float(c[i]);
	});
}
#endif

// stores_wide: rows of y can be written 16 bytes at a time.
template <class T> bool stores_wide(const Product<T> &p) { return p.n % 8 == 0 && reinterpret_cast<uintptr_t>(p.y) % 16 == 0; }

// map_product makes the maps of both operands, and the order of tiles in bands of so many rows.
template <class Tile, bool AlongKA, bool AlongKB, class T> int map_product(hopper::PairWork *work, const Product<T> &p, int64_t height) {
	const auto source = [](const Operand<T> &x, bool along) {
		return hopper::PairSource{x.data, x.batch_stride, along ? x.row_stride : x.k_stride, along};
	};
	return hopper::map_pair<Tile>(work, source(p.a, AlongKA), source(p.b, AlongKB), p.batch, p.m, p.n, p.k, height);
}

} // namespace gemm
} // namespace triad
#endif
