// tile_order.cuh: the order in which blocks take the tiles of a product, so that tiles in flight together share rows and columns in the
// L2 cache: `height` rows of tiles at a time, column by column.
#ifndef TRIAD_TILE_ORDER_CUH
#define TRIAD_TILE_ORDER_CUH
#include <cuda_runtime.h>

#include <cstdint>

namespace triad {

struct TilePlace {
	int64_t m, n;
};

struct TileOrder {
	int64_t tiles_m, tiles_n, height;

	__host__ __device__ int64_t count() const { return tiles_m * tiles_n; }

	__host__ __device__ TilePlace place(int64_t tile) const {
		const int64_t band = tile / (height * tiles_n), inside = tile % (height * tiles_n), first = band * height;
		const int64_t rows = tiles_m - first < height ? tiles_m - first : height;   // the last band may be lower
		return {first + inside % rows, inside / rows};
	}
};

} // namespace triad
#endif
