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

// TilesInBands counts tiles in integers of its type: a division of 64 bits takes some hundred clocks on a GPU.
template <class Count> struct TilesInBands {
	Count tiles_m, tiles_n, height;

	__host__ __device__ int64_t count() const { return static_cast<int64_t>(tiles_m) * tiles_n; }

	__host__ __device__ TilePlace place(Count tile) const {
		const Count band = tile / (height * tiles_n), inside = tile % (height * tiles_n), first = band * height;
		const Count rows = tiles_m - first < height ? tiles_m - first : height;   // the last band may be lower
		return {first + inside % rows, inside / rows};
	}
};

using TileOrder = TilesInBands<int64_t>;

} // namespace triad
#endif
