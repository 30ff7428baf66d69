// mma_tile.cuh: how attention brings rows of a head into tiles of panels (panel_tile.cuh) and takes a result out.
#ifndef TRIAD_FLASH_ATTENTION_MMA_TILE_CUH
#define TRIAD_FLASH_ATTENTION_MMA_TILE_CUH
#include "call.cuh"
#include "hopper/async_copy.cuh"
#include "panel_tile.cuh"

namespace triad {

constexpr float log2_e = 1.4426950408889634f;

// padded_values: the columns that values are padded to where queries and keys are padded to HeadDim.
template <int HeadDim> constexpr int padded_values = HeadDim == 64 ? 64 : 128;

// copy_tile starts the copy of rows first .. first + Rows of a head; what lies beyond the tensor becomes zero, or, with Repeat, rows beyond the last
// one become copies of it. Rows and base are aligned to 16 bytes, head_dim is a multiple of 8.
template <int Rows, int Cols, int Threads, bool Repeat = false, class T>
__device__ inline void copy_tile(hopper::AsyncCopies &copies, hopper::SharedAddress tile, const HeadRows<T> &from, int first, int rows,
                                 int head_dim) {
	constexpr int chunks = Cols / chunk_elements, step = Threads / chunks;
	static_assert(Threads % chunks == 0 && Rows % step == 0 && step % 8 == 0, "a thread keeps its column, and its place in the order of chunks");
	const int thread = hopper::fresh(static_cast<int>(threadIdx.x)), row = thread / chunks, chunk = thread % chunks;
	const bool inside = chunk * chunk_elements < head_dim;
	const T *source = from.data + (first + row) * from.row_stride + chunk * chunk_elements;
	const hopper::SharedAddress to = tile + tile_offset<Rows>(row, chunk);
#pragma unroll
	for (int i = 0; i < Rows / step; i++) {
		const bool valid = inside && first + row + i * step < rows;
		const T *const beyond = Repeat && inside ? from.data + (rows - 1) * from.row_stride + chunk * chunk_elements : from.data;
		copies.copy16(to + i * step * panel_bytes, valid ? source + i * step * from.row_stride : beyond, Repeat ? inside : valid);
	}
}

// copy_panels is copy_tile of any number of panels, one after the other; the last one begins within the rows.
template <int Rows, int Cols, int Threads, bool Repeat = false, class T>
__device__ inline void copy_panels(hopper::AsyncCopies &copies, hopper::SharedAddress tile, HeadRows<T> from, int first, int rows, int head_dim) {
	if constexpr (Cols <= 128) {
		copy_tile<Rows, Cols, Threads, Repeat>(copies, tile, from, first, rows, head_dim);
	} else {
#pragma unroll
		for (int col = 0; col < Cols; col += 64, from.data += 64)
			copy_tile<Rows, 64, Threads, Repeat>(copies, tile + col / 64 * (Rows * panel_bytes), from, first, rows, head_dim - col);
	}
}

// store_result writes 16 rows of factor * sum, rounded, to `to`[rows, head_dim]: through 16 rows of a tile, so that the rows leave 16 bytes at a
// time. tile points at the first of them, and no other warp may be using them.
template <class T, int Rows, int Eights>
__device__ inline void store_result(T *to, unsigned char *tile, const float (&sum)[Eights][4], const float (&factor)[2], int first, int rows,
                                    int head_dim) {
	const int lane = static_cast<int>(threadIdx.x) % 32;
	__syncwarp(); // the rows have been read
#pragma unroll
	for (int n = 0; n < Eights; n++)
#pragma unroll
		for (int half = 0; half < 2; half++)
			*reinterpret_cast<uint32_t *>(tile + tile_offset<Rows>(lane / 4 + 8 * half, n) + lane % 4 * 4) =
			    hopper::pack_pair<T>(sum[n][2 * half] * factor[half], sum[n][2 * half + 1] * factor[half]);
	__syncwarp();
	constexpr int at_once = 32 / Eights; // rows
#pragma unroll
	for (int i = 0; i < 16 / at_once; i++) {
		const int row = i * at_once + lane / Eights, chunk = lane % Eights;
		if (lane / Eights < at_once && first + row < rows && chunk * chunk_elements < head_dim)
			*reinterpret_cast<uint4 *>(to + static_cast<int64_t>(first + row) * head_dim + chunk * chunk_elements) =
			    *reinterpret_cast<const uint4 *>(tile + tile_offset<Rows>(row, chunk));
	}
}

namespace mma {

// Place is the part of the result that a block makes: a tile of one head's rows.
struct Place {
	int tile, head;
	int64_t batch;
};

// place finds it anew each time, which costs less than keeping it in registers.
__device__ inline Place place(int tiles, int heads) {
	const unsigned block = static_cast<unsigned>(hopper::fresh(static_cast<int>(blockIdx.x))), head = block / static_cast<unsigned>(tiles);
	return {static_cast<int>(block % static_cast<unsigned>(tiles)), static_cast<int>(head % static_cast<unsigned>(heads)),
	        head / static_cast<unsigned>(heads)};
}

} // namespace mma
} // namespace triad
#endif
