// mma_tile.cuh: tiles of 16-bit elements in shared memory as tensor cores want them, and the products that attention makes of them.
// A tile of Rows rows is stored in panels of 64 columns, 128 bytes a row; the eight 16-byte chunks of a row stand in the order c ^ (row % 8). So
// the eight rows of a matrix that ldmatrix reads at once lie in eight different groups of banks, and so do the rows that a copy writes.
// Every warp takes part as a whole; g = lane / 4 and t = lane % 4 are a lane's row and pair of columns in a result (hopper/mma.cuh).
#ifndef TRIAD_FLASH_ATTENTION_MMA_TILE_CUH
#define TRIAD_FLASH_ATTENTION_MMA_TILE_CUH
#include "call.cuh"
#include "hopper/arithmetic.cuh"
#include "hopper/async_copy.cuh"
#include "hopper/mma.cuh"

namespace triad {

constexpr float log2_e = 1.4426950408889634f;
constexpr int panel_bytes = 128, chunk_elements = 8;

template <int Rows> __device__ inline int tile_offset(int row, int chunk) {
	return chunk / 8 * (Rows * panel_bytes) + row * panel_bytes + (chunk % 8 ^ row % 8) * 16;
}

// padded_values: the columns that values are padded to where queries and keys are padded to HeadDim.
template <int HeadDim> constexpr int padded_values = HeadDim == 64 ? 64 : 128;

// tile_bytes of a tile of so many rows and columns, the columns a multiple of 64.
constexpr int tile_bytes(int rows, int cols) { return rows * cols * 2; }

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
	if constexpr (Cols <= 128) return copy_tile<Rows, Cols, Threads, Repeat>(copies, tile, from, first, rows, head_dim);
#pragma unroll
	for (int col = 0; col < Cols; col += 64, from.data += 64)
		copy_tile<Rows, 64, Threads, Repeat>(copies, tile + col / 64 * (Rows * panel_bytes), from, first, rows, head_dim - col);
}

// LaneRow is the row that a lane points ldmatrix at, and which of two neighbouring chunks.
struct LaneRow {
	int row, chunk;
};

// rows_first: the four matrices are rows 0-7 and 8-15 of the first chunk, then of the second. chunks_first: both chunks of rows 0-7, then of
// 8-15. A 16x16 block read rows_first is an A operand; transposed it is the two B operands of neighbouring eights of columns. Read
// chunks_first it is two B operands of neighbouring eights of rows; transposed an A operand.
__device__ inline LaneRow rows_first() {
	const int lane = static_cast<int>(threadIdx.x) % 32;
	return {lane % 16, lane / 16};
}
__device__ inline LaneRow chunks_first() {
	const int lane = static_cast<int>(threadIdx.x) % 32;
	return {lane / 16 * 8 + lane % 8, lane / 8 % 2};
}

// TileReader points at the 16x16 blocks of a tile. Rows and block numbers known at compile time cost no instruction but one exclusive-or
// for each of four positions in a panel.
template <int Rows> struct TileReader {
	hopper::SharedAddress base;
	int lane;

	__device__ TileReader(hopper::SharedAddress tile, LaneRow at) : base(tile), lane(hopper::fresh(at.row * panel_bytes + (at.chunk ^ at.row % 8) * 16)) {}

	// block: rows row .. row + 16, a multiple of 16; columns 16 block .. 16 block + 16.
	__device__ hopper::SharedAddress block(int row, int block) const {
		return base + (lane ^ block % 4 * 32) + (row * panel_bytes + block / 4 * (Rows * panel_bytes));
	}
};

// score_product: s[m][n] += (rows m of a) . (rows n of b), over Depth columns: M times 16 rows of a, Eights times 8 rows of b.
template <class T, int M, int Eights, int Depth, int RowsA, int RowsB>
__device__ inline void score_product(float (&s)[M][Eights][4], const TileReader<RowsA> &a, const TileReader<RowsB> &b) {
#pragma unroll
	for (int k = 0; k < Depth / 16; k++) {
		uint32_t left[M][4];
#pragma unroll
		for (int m = 0; m < M; m++) hopper::load_matrices(left[m], a.block(16 * m, k));
#pragma unroll
		for (int n = 0; n < Eights; n += 2) {
			uint32_t right[4];
			hopper::load_matrices(right, b.block(8 * n, k));
#pragma unroll
			for (int m = 0; m < M; m++) {
				hopper::Multiply<T>::add(s[m][n], left[m], right[0], right[1]);
				hopper::Multiply<T>::add(s[m][n + 1], left[m], right[2], right[3]);
			}
		}
	}
}

// pack_weights rounds a result to the operand A of a product over its columns: [k][...] are the columns 16 k .. 16 k + 16.
template <class T, int Eights> __device__ inline void pack_weights(uint32_t (&a)[Eights / 2][4], const float (&s)[Eights][4]) {
#pragma unroll
	for (int k = 0; k < Eights / 2; k++) {
		a[k][0] = hopper::pack_pair<T>(s[2 * k][0], s[2 * k][1]);
		a[k][1] = hopper::pack_pair<T>(s[2 * k][2], s[2 * k][3]);
		a[k][2] = hopper::pack_pair<T>(s[2 * k + 1][0], s[2 * k + 1][1]);
		a[k][3] = hopper::pack_pair<T>(s[2 * k + 1][2], s[2 * k + 1][3]);
	}
}

// add_weighted_rows: sum[m] += weights[m] x, x a tile of 16 Blocks rows and 8 Eights columns, read rows_first.
template <class T, int M, int Blocks, int Eights, int Rows>
__device__ inline void add_weighted_rows(float (&sum)[M][Eights][4], const uint32_t (&weights)[M][Blocks][4], const TileReader<Rows> &x) {
#pragma unroll
	for (int k = 0; k < Blocks; k++) {
#pragma unroll
		for (int n = 0; n < Eights; n += 2) {
			uint32_t right[4];
			hopper::load_transposed(right, x.block(16 * k, n / 2));
#pragma unroll
			for (int m = 0; m < M; m++) {
				hopper::Multiply<T>::add(sum[m][n], weights[m][k], right[0], right[1]);
				hopper::Multiply<T>::add(sum[m][n + 1], weights[m][k], right[2], right[3]);
			}
		}
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
