// tma_few_rows.cuh: sm90_tma where y has few tiles of 64 x 64, by the pipeline of hopper/few_rows.cuh: a block multiplies one of them, or a part of its
// reduction, by one warpgroup. 192 KB of both operands are under way. Operands may lie along the reduction or across it.
#ifndef TRIAD_GEMM_TMA_FEW_ROWS_CUH
#define TRIAD_GEMM_TMA_FEW_ROWS_CUH
#include "hopper/few_rows.cuh"
#include "hopper/pair_product.cuh"
#include "tma_products.cuh"

namespace triad {
namespace gemm {

// What hopper/pair_product.cuh asks of a tile whose operands it maps, and a stage of which is a and then b.
struct FewRowsOperands {
	static constexpr int cluster = 1, m = 64, n = 64, part = n, k = 64, a_bytes = m * hopper::tile_row_bytes, stage_bytes = 2 * a_bytes;
};
using FewRowsTile = hopper::FewRowsTile<1, FewRowsOperands::stage_bytes, 12>;

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
template <class T, bool AlongKA, bool AlongKB> struct FewRowsProduct {
	const Product<T> &p;
	const hopper::PairWork &work;
	int tiles_m;
	bool wide;

	// Tiles below each other come first: they share columns of b.
	__device__ hopper::PairPlace place(int tile) const {
		const int across = static_cast<int>(work.order.tiles_n), in_row = tile / tiles_m;
		return {in_row / across, static_cast<int64_t>(tile % tiles_m) * FewRowsOperands::m, static_cast<int64_t>(in_row % across) * FewRowsOperands::n};
	}
	__device__ void prefetch() const {
		hopper::prefetch_map(&work.a.map);
		hopper::prefetch_map(&work.b.map);
	}
	__device__ void copy(hopper::SharedAddress stage, hopper::SharedAddress full, int tile, int step) const {
		const hopper::PairPlace at = place(tile);
		const int matrix = static_cast<int>(at.matrix), k = step * FewRowsOperands::k;
		hopper::copy_operand<FewRowsOperands::n, AlongKB, 1>(stage + FewRowsOperands::a_bytes, work.b.map,
		                                                     work.b.box<AlongKB>(matrix, static_cast<int>(at.col), k), full);
		hopper::copy_operand<FewRowsOperands::m, AlongKA, 1>(stage, work.a.map, work.a.box<AlongKA>(matrix, static_cast<int>(at.row), k), full);
	}
	__device__ void multiply(float (&d)[FewRowsTile::eights][4], const hopper::FewRowsStage &stage, int) const {
		hopper::fence();
		hopper::multiply_stage<T, AlongKA, AlongKB>(d, stage.address, stage.address + FewRowsOperands::a_bytes, true);
		hopper::commit();
	}
	__device__ void complete(float (&)[FewRowsTile::eights][4], int, int) const {}
	__device__ void store(const float (&y)[FewRowsTile::chunk_eights][4], int tile, int chunk) const {
		hopper::PairPlace at = place(tile);
		at.col += 8 * FewRowsTile::chunk_eights * chunk;
		store_product(p, wide, y, at);
	}
};
#endif

template <class T, bool AlongKA, bool AlongKB, int Splits>
__global__ void __launch_bounds__(FewRowsTile::threads, 1)
    gemm_tma_few_rows(const __grid_constant__ Product<T> p, bool wide, const __grid_constant__ hopper::PairWork operands, hopper::FewRowsWork work) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
	extern __shared__ __align__(128) unsigned char gemm_tiles[];
	const int tiles_m = static_cast<int>(operands.order.tiles_m);
	hopper::run_few_rows<FewRowsTile, Splits, float>(work, gemm_tiles, [&](unsigned char *) {
		return FewRowsProduct<T, AlongKA, AlongKB>{p, operands, tiles_m, wide};
	});
#endif
}

// has_few_rows: a has no more rows than a tile, or no multiprocessor more than one tile.
template <class T> bool has_few_rows(const Product<T> &p) {
	const int64_t tiles = p.batch * ceil_div(p.m, FewRowsOperands::m) * ceil_div(p.n, FewRowsOperands::n);
	return tiles < INT32_MAX && (p.m <= FewRowsOperands::m || tiles <= device_attribute(cudaDevAttrMultiProcessorCount));
}

template <class T, bool AlongKA, bool AlongKB> int launch_few_rows(const Product<T> &p, cudaStream_t stream) {
	hopper::PairWork operands = {};
	if (const int status = map_product<FewRowsOperands, AlongKA, AlongKB>(&operands, p, 1)) return status;
	const hopper::FewRowsWork work = {static_cast<int>(operands.count()), operands.steps};
	const auto launch = [&](auto splits) {
		constexpr int number = decltype(splits)::value;
		return hopper::launch_few_rows<FewRowsTile, number>(gemm_tma_few_rows<T, AlongKA, AlongKB, number>, work, stream, p, stores_wide(p), operands);
	};
	switch (hopper::few_rows_splits<FewRowsTile>(work)) {
	case 1: return launch(std::integral_constant<int, 1>());
	case 2: return launch(std::integral_constant<int, 2>());
	default: return launch(std::integral_constant<int, 4>());
	}
}

} // namespace gemm
} // namespace triad
#endif
