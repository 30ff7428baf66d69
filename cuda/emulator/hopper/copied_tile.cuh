// A swizzled tile of rows of 128 bytes, asked of the emulator's copy engine (async_copies.cc): what head_map.cuh and tensor_map.cuh share.
#ifndef CUEMU_HOPPER_COPIED_TILE_CUH
#define CUEMU_HOPPER_COPIED_TILE_CUH
#include "cuemu/async.h"
#include "hopper/shared_address.cuh"
#include "hopper/swizzle.cuh"

namespace triad {
namespace hopper {

constexpr int this_block = -1;

// copy_tile: to this block, or where `blocks` is not this_block to each of the cluster whose bit is set. Of the tensor,
// valid_rows rows and valid_bytes bytes of each follow `from`; what is beyond reads as zero.
inline void copy_tile(SharedAddress to, const char *from, int64_t row_bytes, int rows, int64_t valid_rows, int64_t valid_bytes,
                      SharedAddress barrier, int blocks, const char *file, int line) {
	if (to % tile_alignment != 0) cuemu_trap(file, line); // the swizzle is a function of the address
	const auto within = [](int64_t n, int most) { return static_cast<int>(n < 0 ? 0 : n < most ? n : most); };
	const cuemu::Box box = {pointer_to(to), from, row_bytes, rows, within(valid_rows, rows), within(valid_bytes, tile_row_bytes), false};
	if (blocks == this_block) cuemu_copy_box(&box, pointer_to(barrier), file, line);
	else cuemu_copy_box_to_each(&box, pointer_to(barrier), static_cast<unsigned>(blocks), file, line);
}

} // namespace hopper
} // namespace triad
#endif
