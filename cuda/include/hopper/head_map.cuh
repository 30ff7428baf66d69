// head_map.cuh: copies of rows of a tensor [batch, heads, rows, columns] of 16-bit elements into shared memory by the copy engine, 64 columns at
// a time, swizzled. The map is made on the host by the driver, travels as a __grid_constant__ parameter, and one thread issues the copies.
// Source   CUDA driver API 13.0, cuTensorMapEncodeTiled; PTX ISA 9.0, "cp.async.bulk.tensor"
#ifndef TRIAD_HOPPER_HEAD_MAP_CUH
#define TRIAD_HOPPER_HEAD_MAP_CUH
#include "hopper/encode_map.cuh"
#include "hopper/swizzle.cuh"

namespace triad::hopper {

using HeadMap = CUtensorMap;
constexpr int box_columns = tile_row_bytes / 2;

// HeadSizes are sizes and strides in elements. A stride of a dimension of size 1 is not used; the others are multiples of 8. Columns lie together.
struct HeadSizes {
	int64_t batch, heads, rows, columns, batch_stride, head_stride, row_stride;
};

// map_heads describes a tensor as boxes of box_rows rows (at most 256) x 64 columns. data is a multiple of 16; no size is 0. What lies outside
// of a head reads as zero. Returns 0 or a CUDA error code.
inline int map_heads(HeadMap *map, const void *data, const HeadSizes &s, int box_rows) {
	const auto size = [](int64_t n) { return static_cast<cuuint64_t>(n); };
	const auto bytes = [&](int64_t n, int64_t stride) { return size(n > 1 ? stride * 2 : 16); };
	const cuuint64_t shape[] = {size(s.columns), size(s.rows), size(s.heads), size(s.batch)};
	const cuuint64_t strides[] = {bytes(s.rows, s.row_stride), bytes(s.heads, s.head_stride), bytes(s.batch, s.batch_stride)};
	const cuuint32_t box[] = {box_columns, static_cast<cuuint32_t>(box_rows), 1, 1};
	return encode_map(map, CU_TENSOR_MAP_DATA_TYPE_UINT16, data, shape, strides, box);
}

// copy_rows copies a box from (batch, head, row, column) on to a shared-memory address, and reports all of its bytes, also those outside of the
// head, to a barrier.
__device__ inline void copy_rows(uint32_t to, const HeadMap *map, int column, int row, int head, int batch, uint32_t barrier) {
	asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(to),
	             "l"(reinterpret_cast<uint64_t>(map)), "r"(column), "r"(row), "r"(head), "r"(batch), "r"(barrier)
	             : "memory");
}

// copy_rows_to_each: copy_rows, to the same place in each block of the cluster whose bit is set in `blocks`; there it is reported to the
// barrier at the same place.
__device__ inline void copy_rows_to_each(uint32_t to, const HeadMap *map, int column, int row, int head, int batch, uint32_t barrier,
                                         uint16_t blocks) {
	asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
	             "[%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(to),
	             "l"(reinterpret_cast<uint64_t>(map)), "r"(column), "r"(row), "r"(head), "r"(batch), "r"(barrier), "h"(blocks)
	             : "memory");
}

} // namespace triad::hopper
#endif
