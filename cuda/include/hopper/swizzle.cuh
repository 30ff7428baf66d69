// swizzle.cuh: where the bytes of an operand tile lie in shared memory, the descriptor that tells wgmma so, and which element of the
// product each register of a thread holds. Plain arithmetic, also on the host, where a test holds it against a model of the hardware.
// Layout   a tile has rows of 128 bytes along the reduction (K-major). Within each 1024 bytes (8 rows) the 16-byte chunks of row r are
//          exchanged: chunk c lies where chunk c ^ (r % 8) would. Tiles begin at multiples of 1024, so the exchange is a function of the
//          address, and the next 32 bytes of k are found by adding 32 to the address of a descriptor.
// Source   PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions": matrix descriptor, 128-byte swizzle, accumulator fragments
#ifndef TRIAD_HOPPER_SWIZZLE_CUH
#define TRIAD_HOPPER_SWIZZLE_CUH
#include <cuda_runtime.h>

#include <cstdint>

namespace triad::hopper {

constexpr int tile_row_bytes = 128;    // of an operand along k
constexpr int chunk_bytes = 16;        // what is exchanged
constexpr int tile_alignment = 1024;   // the period of the swizzle
constexpr int mma_rows = 64;           // of the product, by one wgmma
constexpr int mma_k_bytes = 32;        // of the reduction, by one wgmma

// swizzled is the offset of a byte from the start of its tile.
__host__ __device__ constexpr uint32_t swizzled(uint32_t row, uint32_t byte) {
	const uint32_t chunk = byte / chunk_bytes ^ row % 8;
	return row * tile_row_bytes + chunk * chunk_bytes + byte % chunk_bytes;
}

// tile_descriptor describes a swizzled K-major tile from a shared-memory address on: bits 0-13 the address in units of 16 bytes, bits
// 16-29 the leading offset (not used with a swizzle), bits 32-45 the distance of groups of 8 rows in units of 16 bytes, bits 62-63 = 1
// for the 128-byte swizzle.
__host__ __device__ constexpr uint64_t tile_descriptor(uint32_t address) {
	constexpr uint64_t leading = 1, group = 8 * tile_row_bytes / 16, swizzle_128 = 1;
	return (address >> 4 & 0x3FFFu) | leading << 16 | group << 32 | swizzle_128 << 62;
}

// advanced moves a descriptor by so many bytes: along k (multiples of 32, below 128) or by whole groups of 8 rows.
__host__ __device__ constexpr uint64_t advanced(uint64_t descriptor, uint32_t bytes) { return descriptor + (bytes >> 4); }

// Element `i` of a thread's accumulators of an m64nN product is at this row and column (thread: 0 to 127 of the warpgroup).
__host__ __device__ constexpr int accumulator_row(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8; }
__host__ __device__ constexpr int accumulator_column(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }

} // namespace triad::hopper
#endif
