// ragged_map.cuh: a map of a matrix whose rows are in groups that only the GPU knows, so that a box ends where its group ends: rows past the end read
// as zero, and nothing is read of the next group.
//   A map has one number of rows, of which a box reads none beyond. So each group has the last ones of 2^30 rows: row i of a group of `size` rows that
//   ends before row `end` of the matrix is row 2^30 - size + i of the map. Two more coordinates take the address to where it lies, one of them by going
//   around at 2^64 (strides in bytes):
//
//       data + stride (2^30 - size + i) + stride * end + (2^34 - stride) 2^30  =  data + stride (end - size + i)  modulo 2^64
//
// Source   Triton, triton.tools.ragged_tma, which found that the copy engine's addresses go around
#ifndef TRIAD_HOPPER_RAGGED_MAP_CUH
#define TRIAD_HOPPER_RAGGED_MAP_CUH
#include "hopper/walked_product.cuh"

namespace triad {
namespace hopper {

constexpr int64_t ragged_rows = int64_t{1} << 30; // a matrix has at most so many

// map_ragged describes a matrix as boxes of box_rows x 64 columns of groups of its rows. stride, in 16-bit words, is a multiple of 8, from 1 to
// 2^33 - 8 words; data is a multiple of 16. 0, or CUDA's error code.
inline int map_ragged(HeadMap *map, const void *data, int64_t columns, int64_t stride, int box_rows) {
	constexpr int64_t around = int64_t{1} << 33; // words: 2^30 times as many go once around
	return map_heads(map, data, {ragged_rows + 1, ragged_rows + 1, ragged_rows, columns, around - stride, stride, stride}, box_rows);
}

// ragged_part is a group of rows of such a map.
__host__ __device__ inline WalkedPart ragged_part(int64_t end, int64_t size) {
	return {static_cast<int>(ragged_rows - size), static_cast<int>(end), static_cast<int>(ragged_rows)};
}

} // namespace hopper
} // namespace triad
#endif
