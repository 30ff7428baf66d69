// wgmma_launch.cuh: which of the tensor-core fp8 products of Hopper a product takes, and their launches.
#ifndef TRIAD_FP8_GEMM_WGMMA_LAUNCH_CUH
#define TRIAD_FP8_GEMM_WGMMA_LAUNCH_CUH
#include <algorithm>

#include "register.cuh"
#include "wgmma_fast.cuh"
#include "wgmma_few_rows.cuh"

namespace triad {

struct Wgmma {
	// Whether the copy engine can read an operand: rows that begin at multiples of 16 bytes, and sizes that fit its coordinates.
	static bool copyable(const Fp8Matrix &x, int64_t rows, int64_t k) {
		const bool aligned = reinterpret_cast<uintptr_t>(x.codes) % 16 == 0 && (rows == 1 || (x.row_stride % 16 == 0 && x.row_stride >= k));
		return aligned && k > 0 && (k == 1 || x.k_stride == 1) && rows < INT32_MAX && k < INT32_MAX && x.row_stride < (int64_t{1} << 39);
	}

	template <int32_t FormatA, int32_t FormatB>
	static int launch(const Product &p, const triad_call *, cudaStream_t stream) {
		if (!copyable(p.a, p.m, p.k) || !copyable(p.b, p.n, p.k))
			return by_scaling<FormatA, FormatB, 1>(p, GuardedLoader{p.a, p.b, p.m, p.n, p.k}, stream);
		if (few_rows(p)) return split<FormatA, FormatB, Rows>(p, Rows::most_splits, stream);
		const bool large = ceil_div(p.m, LargeTile::m) * ceil_div(p.n, tile_n) >= multiprocessors();
		return large ? copied<FormatA, FormatB, 2, PairLoader>(p, LargeTile::m / 2, stream)
		             : copied<FormatA, FormatB, 1, CopyLoader>(p, SmallTile::m, stream);
	}

	using Rows = FewRows<64, 5>;

	// few_rows: so few tiles of 64 rows that the reduction may have to be divided for every multiprocessor to have some of the work.
	static bool few_rows(const Product &p) { return tiles<Rows>(p) <= multiprocessors(); }
	template <class Rows> static int64_t tiles(const Product &p) { return ceil_div(p.m, Rows::m) * ceil_div(p.n, Rows::n); }

	template <int32_t FormatA, int32_t FormatB, class Rows> static int split(const Product &p, int most, cudaStream_t stream) {
		CopyLoader loader;
		if (const int status = map(&loader.a, p.a, p.m, p.k, Rows::m)) return status;
		if (const int status = map(&loader.b, p.b, p.n, p.k, Rows::n)) return status;
		const int64_t all = tiles<Rows>(p), k_blocks = ceil_div(p.k, tile_k);
		int splits = 1;
		while (splits < most && all * splits * 2 <= Rows::blocks_beside(splits * 2) * multiprocessors() && splits < k_blocks)
			splits *= 2;
		const bool wide = p.n % 8 == 0 && reinterpret_cast<uintptr_t>(p.c) % 16 == 0;
		void (*const kernel)(Product, CopyLoader, int, bool) =
			p.scaling == block_scaling ? product_wgmma_few_rows<FormatA, FormatB, true, Rows>
			                           : product_wgmma_few_rows<FormatA, FormatB, false, Rows>;
		const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Rows::bytes(splits));
		if (status != cudaSuccess) return cleared(static_cast<int>(status));
		if (const int failed = hopper::launch_clusters(kernel, static_cast<unsigned>(all), static_cast<unsigned>(splits), Rows::threads,
		                                                      static_cast<size_t>(Rows::bytes(splits)), stream, p, loader, splits, wide))
			return cleared(failed);
		return launched();
	}

	template <int32_t FormatA, int32_t FormatB, int Waves, class Loader> static int copied(const Product &p, int box_rows, cudaStream_t stream) {
		Loader loader;
		if (const int status = map(&loader.a, p.a, p.m, p.k, box_rows)) return status;
		if (const int status = map(&loader.b, p.b, p.n, p.k, tile_n)) return status;
		return by_scaling<FormatA, FormatB, Waves>(p, loader, stream);
	}

	static int multiprocessors() { return std::max(1, device_attribute(cudaDevAttrMultiProcessorCount)); }

	// The stride of a single row is free in a tensor, not in a map.
	static int map(hopper::ByteMap *to, const Fp8Matrix &x, int64_t rows, int64_t k, int box_rows) {
		return hopper::map_bytes(to, x.codes, rows, k, rows == 1 ? ceil_div(k, 16) * 16 : x.row_stride, box_rows);
	}

	template <int32_t FormatA, int32_t FormatB, int Waves, class Loader>
	static int by_scaling(const Product &p, const Loader &loader, cudaStream_t stream) {
		return p.scaling == block_scaling ? run<Waves>(product_wgmma<FormatA, FormatB, true, Waves, Loader>, p, loader, stream)
		                                  : run<Waves>(product_wgmma<FormatA, FormatB, false, Waves, Loader>, p, loader, stream);
	}

	template <int Waves, class Loader>
	static int run(void (*kernel)(Product, Loader, TileOrder, bool), const Product &p, const Loader &loader, cudaStream_t stream) {
		using Tile = WgmmaTile<Waves>;
		const TileOrder order = {ceil_div(p.m, Tile::m), ceil_div(p.n, tile_n * Loader::cluster), 2048 / Tile::m};
		const int64_t clusters = std::min<int64_t>(order.count(), std::max(1, multiprocessors() / Loader::cluster));
		const bool wide = p.n % 8 == 0 && reinterpret_cast<uintptr_t>(p.c) % 16 == 0;
		const cudaError_t status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Tile::shared_bytes);
		if (status != cudaSuccess) return cleared(static_cast<int>(status));
		if (const int failed = hopper::launch_clusters(kernel, static_cast<unsigned>(clusters), Loader::cluster, Tile::threads,
		                                                      Tile::shared_bytes, stream, p, loader, order, wide))
			return cleared(failed);
		return launched();
	}
};

struct WgmmaFast {
	template <int32_t FormatA, int32_t FormatB>
	static int launch(const Product &p, const triad_call *, cudaStream_t stream) {
		constexpr int64_t height = 8; // rows of tiles of clusters that are in flight together
		const auto source = [](const Fp8Matrix &x) { return hopper::PairSource{x.codes, 0, x.row_stride / 2, true}; };
		hopper::PairWork work = {};
		if (const int status = hopper::map_pair<FastTile>(&work, source(p.a), source(p.b), 1, p.m, p.n, p.k / 2, height))
			return status;
		const bool wide = p.n % 8 == 0 && reinterpret_cast<uintptr_t>(p.c) % 16 == 0;
		return hopper::launch_pair<FastTile>(product_wgmma_fast<FormatA, FormatB>, work, stream, p, wide);
	}
};

} // namespace triad
#endif
