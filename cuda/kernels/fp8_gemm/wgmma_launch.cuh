// wgmma_launch.cuh: which of the tensor-core fp8 products of Hopper a product takes, and their launches.
#ifndef TRIAD_FP8_GEMM_WGMMA_LAUNCH_CUH
#define TRIAD_FP8_GEMM_WGMMA_LAUNCH_CUH
#include <algorithm>

#include "capability.cuh"
#include "register.cuh"
#include "wgmma_blocks.cuh"
#include "wgmma_few_rows.cuh"

namespace triad {

struct Wgmma {
	static Limits limits() { return {wgmma_capability(), limit("sums of fewer than 2^31 - 1 products", check_k)}; }

	static void check_k(Check &check, const triad_call *call) {
		check.that(call->in[0].shape[1] < INT32_MAX, "the summed dim is %lld, not below 2^31 - 1", static_cast<long long>(call->in[0].shape[1]));
	}

	// Whether the copy engine can read an operand: rows that begin at multiples of 16 bytes, and sizes that fit its coordinates.
	static bool copyable(const Fp8Matrix &x, int64_t rows, int64_t k) {
		const bool aligned = reinterpret_cast<uintptr_t>(x.codes) % 16 == 0 && (rows == 1 || (x.row_stride % 16 == 0 && x.row_stride >= k));
		return aligned && k > 0 && (k == 1 || x.k_stride == 1) && rows < INT32_MAX && k < INT32_MAX && x.row_stride < (int64_t{1} << 39);
	}

	template <int32_t FormatA, int32_t FormatB>
	static int launch(const Product &p, const triad_call *, cudaStream_t stream) {
		if (!copyable(p.a, p.m, p.k) || !copyable(p.b, p.n, p.k))
			return by_scaling<FormatA, FormatB, 1, 2>(p, GuardedLoader{p.a, p.b, p.m, p.n, p.k}, stream);
		if (few_row_tiles(p) <= multiprocessors()) return split<FormatA, FormatB>(p, stream);
		if (p.scaling == block_scaling) return copied<FormatA, FormatB, 1, 2>(p, stream);
		const bool large = ceil_div(p.m, LargeTile::m) * ceil_div(p.n, tile_n) >= multiprocessors();
		if (large && rows_in_turn<TripleTile>(p) <= rows_in_turn<LargeTile>(p)) return copied<FormatA, FormatB, 1, 3>(p, stream);
		return large ? copied<FormatA, FormatB, 2, 2>(p, stream) : copied<FormatA, FormatB, 1, 2>(p, stream);
	}

	// The rows of tiles that the busiest multiprocessor multiplies, one after the other. Where 192 rows a tile are no more of them than 256 are,
	// they are faster: a third warpgroup multiplies while one adds, and less power is taken.
	template <class Tile> static int64_t rows_in_turn(const Product &p) {
		return ceil_div(ceil_div(p.m, Tile::m) * ceil_div(p.n, tile_n), multiprocessors()) * Tile::m;
	}

	template <int32_t FormatA, int32_t FormatB, int Waves, int Consumers> static int copied(const Product &p, cudaStream_t stream) {
		CopyLoader loader;
		if (const int status = map(&loader.a, p.a, p.m, p.k, WgmmaTile<Waves, Consumers>::m)) return status;
		if (const int status = map(&loader.b, p.b, p.n, p.k, tile_n)) return status;
		return by_scaling<FormatA, FormatB, Waves, Consumers>(p, loader, stream);
	}

	static int64_t few_row_tiles(const Product &p) { return ceil_div(p.m, FewRows::m) * ceil_div(p.n, FewRows::n); }

	// split divides the reduction where there are fewer tiles than half of the multiprocessors: one block each has the memory's whole rate.
	template <int32_t FormatA, int32_t FormatB> static int split(const Product &p, cudaStream_t stream) {
		CopyLoader loader;
		if (const int status = map(&loader.a, p.a, p.m, p.k, FewRows::m)) return status;
		if (const int status = map(&loader.b, p.b, p.n, p.k, FewRows::n)) return status;
		const int64_t tiles = few_row_tiles(p), k_blocks = ceil_div(p.k, tile_k);
		int splits = 1;
		while (splits < FewRows::most_splits && tiles * splits * 2 <= multiprocessors() && splits < k_blocks) splits *= 2;
		const bool wide = p.n % 8 == 0 && reinterpret_cast<uintptr_t>(p.c) % 16 == 0;
		void (*const kernel)(Product, CopyLoader, int, bool) = p.scaling == block_scaling ? product_wgmma_few_rows<FormatA, FormatB, true>
		                                                                                 : product_wgmma_few_rows<FormatA, FormatB, false>;
		const int bytes = FewRows::bytes(splits);
		if (const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes))
			return cleared(static_cast<int>(status));
		if (const int status = hopper::launch_clusters(kernel, static_cast<unsigned>(tiles), static_cast<unsigned>(splits), FewRows::threads,
		                                               static_cast<size_t>(bytes), stream, p, loader, splits, wide))
			return cleared(status);
		return launched();
	}

	static int multiprocessors() { return std::max(1, device_attribute(cudaDevAttrMultiProcessorCount)); }

	// The stride of a single row is free in a tensor, not in a map.
	static int map(hopper::ByteMap *to, const Fp8Matrix &x, int64_t rows, int64_t k, int box_rows) {
		return hopper::map_bytes(to, x.codes, rows, k, rows == 1 ? ceil_div(k, 16) * 16 : x.row_stride, box_rows);
	}

	template <int32_t FormatA, int32_t FormatB, int Waves, int Consumers, class Loader>
	static int by_scaling(const Product &p, const Loader &loader, cudaStream_t stream) {
		using Tile = WgmmaTile<Waves, Consumers>;
		if constexpr (Waves == 1 && Consumers == 2)
			if (p.scaling == block_scaling) return run<Tile>(product_wgmma_blocks<FormatA, FormatB, Loader>, p, loader, stream);
		return run<Tile>(product_wgmma<FormatA, FormatB, Waves, Consumers, Loader>, p, loader, stream);
	}

	template <class Tile, class Loader>
	static int run(void (*kernel)(Product, Loader, TileOrder, bool), const Product &p, const Loader &loader, cudaStream_t stream) {
		const TileOrder order = {ceil_div(p.m, Tile::m), ceil_div(p.n, tile_n), 2048 / Tile::m};
		const unsigned blocks = static_cast<unsigned>(std::min<int64_t>(order.count(), multiprocessors()));
		const bool wide = p.n % 8 == 0 && reinterpret_cast<uintptr_t>(p.c) % 16 == 0;
		const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::shared_bytes);
		if (status != cudaSuccess) return cleared(static_cast<int>(status));
		kernel<<<blocks, Tile::threads, Tile::shared_bytes, stream>>>(p, loader, order, wide);
		return launched();
	}
};

} // namespace triad
#endif
