// tensor_map.cuh: 2-D copies from global into swizzled shared memory by the copy engine. The map is made on the host by the driver, travels
// as a __grid_constant__ parameter, and one thread issues the copies.
// Source   CUDA driver API 13.0, cuTensorMapEncodeTiled; PTX ISA 9.0, "cp.async.bulk.tensor"
#ifndef TRIAD_HOPPER_TENSOR_MAP_CUH
#define TRIAD_HOPPER_TENSOR_MAP_CUH
#include "hopper/encode_map.cuh"
#include "hopper/swizzle.cuh"

namespace triad::hopper {

using ByteMap = CUtensorMap;

// map_bytes describes a matrix of bytes, rows x row_bytes at `data`, as boxes of box_rows x 128 bytes that land swizzled. What lies outside
// the matrix reads as zero. data and stride are multiples of 16; box_rows <= 256. Returns 0 or a CUDA error code.
inline int map_bytes(ByteMap *map, const void *data, int64_t rows, int64_t row_bytes, int64_t stride, int box_rows) {
	const cuuint64_t shape[] = {static_cast<cuuint64_t>(row_bytes), static_cast<cuuint64_t>(rows)};
	const cuuint64_t strides[] = {static_cast<cuuint64_t>(stride)};   // of all dimensions but the first
	const cuuint32_t box[] = {tile_row_bytes, static_cast<cuuint32_t>(box_rows)};
	return encode_map(map, CU_TENSOR_MAP_DATA_TYPE_UINT8, data, shape, strides, box);
}

// copy_box copies the box that begins at (row, byte) to a shared-memory address and reports all of its bytes, also those outside the
// matrix, to a barrier.
__device__ inline void copy_box(uint32_t to, const ByteMap *map, int32_t row, int32_t byte, uint32_t barrier) {
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
	             "l"(reinterpret_cast<uint64_t>(map)), "r"(byte), "r"(row), "r"(barrier)
	             : "memory");
}

} // namespace triad::hopper
#endif
