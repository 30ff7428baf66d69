// Stands in for cuda/include/hopper/head_map.cuh: a map holds what the driver would encode, and refuses what the driver refuses.
#ifndef TRIAD_HOPPER_HEAD_MAP_CUH
#define TRIAD_HOPPER_HEAD_MAP_CUH
#include "hopper/barrier.cuh"
#include "hopper/copied_tile.cuh"
#include "hopper/swizzle.cuh"

namespace triad {
namespace hopper {

constexpr int box_columns = tile_row_bytes / 2;

struct HeadSizes {
	int64_t batch, heads, rows, columns, batch_stride, head_stride, row_stride;
};

struct HeadMap {
	const char *data;
	HeadSizes sizes;
	int box_rows;
};

inline int map_heads(HeadMap *map, const void *data, const HeadSizes &s, int box_rows) {
	const auto refused = [](int64_t n, int64_t stride) { return n <= 0 || (n > 1 && (stride < 0 || stride % 8 != 0)); };
	if (reinterpret_cast<uintptr_t>(data) % 16 != 0 || box_rows < 1 || box_rows > 256 || s.columns <= 0 || refused(s.rows, s.row_stride) ||
	    refused(s.heads, s.head_stride) || refused(s.batch, s.batch_stride))
		return static_cast<int>(cudaErrorInvalidValue);
	*map = {static_cast<const char *>(data), s, box_rows};
	return 0;
}

inline void prefetch_map(const HeadMap *) {}

inline void copy_rows_to_each(SharedAddress to, const HeadMap *map, int column, int row, int head, int batch, SharedAddress barrier,
                              int blocks, CUEMU_HERE) {
	const HeadSizes &s = map->sizes;
	const int64_t rows = head < s.heads && batch < s.batch ? s.rows - row : 0, columns = s.columns - column;
	const auto step = [](int64_t index, int64_t stride) { return static_cast<uint64_t>(index) * static_cast<uint64_t>(stride); };
	const uint64_t first = step(batch, s.batch_stride) + step(head, s.head_stride) + step(row, s.row_stride) + static_cast<uint64_t>(column);
	const uint64_t from = reinterpret_cast<uint64_t>(map->data) + first * 2; // addresses go around at 2^64, as the engine's do: see ragged_map.cuh
	copy_tile(to, reinterpret_cast<const char *>(from), s.row_stride * 2, map->box_rows, rows, columns * 2, barrier, blocks, file, line);
}

inline void copy_rows(SharedAddress to, const HeadMap *map, int column, int row, int head, int batch, SharedAddress barrier, CUEMU_HERE) {
	copy_rows_to_each(to, map, column, row, head, batch, barrier, this_block, file, line);
}

} // namespace hopper
} // namespace triad
#endif
