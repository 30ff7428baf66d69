// panel_tile.cuh: tiles of 16-bit elements in shared memory as mma.sync wants them, and the products of two of them.
// A tile of Rows rows is stored in panels of 64 columns, 128 bytes a row; the eight 16-byte chunks of a row stand in the order c ^ (row % 8). So
// the eight rows of a matrix that ldmatrix reads at once lie in eight different groups of banks, and so do the rows that a copy writes.
// Every warp takes part as a whole; g = lane / 4 and t = lane % 4 are a lane's row and pair of columns in a result (hopper/mma.cuh).
#ifndef TRIAD_PANEL_TILE_CUH
#define TRIAD_PANEL_TILE_CUH
#include "hopper/arithmetic.cuh"
#include "hopper/mma.cuh"

namespace triad {

constexpr int panel_bytes = 128, chunk_elements = 8;

template <int Rows> __device__ inline int tile_offset(int row, int chunk) {
	return chunk / 8 * (Rows * panel_bytes) + row * panel_bytes + (chunk % 8 ^ row % 8) * 16;
}

// tile_bytes of a tile of so many rows and columns, the columns a multiple of 64.
constexpr int tile_bytes(int rows, int cols) { return rows * cols * 2; }

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

} // namespace triad
#endif
