// Stands in for cuda/include/hopper/tensor_map.cuh: a map holds what the driver would encode, and refuses what the driver refuses.
#ifndef TRIAD_HOPPER_TENSOR_MAP_CUH
#define TRIAD_HOPPER_TENSOR_MAP_CUH
#include "hopper/barrier.cuh"
#include "hopper/copied_tile.cuh"
#include "hopper/swizzle.cuh"

namespace triad {
namespace hopper {

struct ByteMap {
	const char *data;
	int64_t rows, row_bytes, stride;
	int box_rows;
};

inline int map_bytes(ByteMap *map, const void *data, int64_t rows, int64_t row_bytes, int64_t stride, int box_rows) {
	const bool sizes = rows > 0 && row_bytes > 0 && box_rows >= 1 && box_rows <= 256;
	const bool aligned = reinterpret_cast<uintptr_t>(data) % 16 == 0 && stride % 16 == 0;
	if (!sizes || !aligned || stride < 0 || stride >= int64_t{1} << 40) return static_cast<int>(cudaErrorInvalidValue);
	*map = {static_cast<const char *>(data), rows, row_bytes, stride, box_rows};
	return 0;
}

inline void prefetch_map(const ByteMap *) {}

inline void copy_box(SharedAddress to, const ByteMap *map, int32_t row, int32_t byte, SharedAddress barrier, CUEMU_HERE) {
	copy_tile(to, map->data + row * map->stride + byte, map->stride, map->box_rows, map->rows - row, map->row_bytes - byte, barrier, this_block, file,
	          line);
}

} // namespace hopper
} // namespace triad
#endif
