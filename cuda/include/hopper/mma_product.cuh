// mma_product.cuh: a block's part of a product of 16-bit operands on tensor cores (mma.sync.m16n8k16, sm_80 and newer), with fp32 sums. A block of 4
// warps takes 128 x 128 elements, a warp 64 x 64 of them: of what it reads from shared memory each value serves 64 products, so that the reads keep
// up with the tensor cores. Tiles of three steps are copied (cp.async) beside the products of the fourth, and there is one barrier a step:
//
//     step s     wait for its tiles | barrier: they are whole, and all are done with step s-1 | copy step s+3 over the tiles of s-1 | multiply
//
// An operand lies in memory along k or along its rows, and so does its tile: what comes out of shared memory turned round, comes through
// ldmatrix's transposing form, at no cost. Rows of a tile are 16 bytes longer than they need: then the eight rows that ldmatrix reads at once
// lie in eight different groups of banks.
#ifndef TRIAD_HOPPER_MMA_PRODUCT_CUH
#define TRIAD_HOPPER_MMA_PRODUCT_CUH
#include "hopper/async_copy.cuh"
#include "hopper/mma.cuh"
#include "quad.cuh"

namespace triad {
namespace hopper {

struct Mma {
	static constexpr int m = 128, n = 128, k = 32, stages = 4, threads = 128, warp_m = 64, warp_n = 64;
	static constexpr int chunk = 8; // elements of 16 bytes
};

// MmaOperand is an operand: element (row, k) lies at row * row_stride + k * k_stride. Any type with these members will do.
template <class T> struct MmaOperand {
	const T *data;
	int64_t row_stride, k_stride;
};

// TileCopier is a thread's part of the copies of an operand's tiles, one step after the other: 16 bytes in every so-manieth line. A tile is Lines of
// Length elements that are neighbours in memory, along k or along the operand's rows; its lines are 16 bytes longer than they need. Slot says where
// a line lies in the tile, of the first Threads * 16 bytes; those after them lie as they do.
template <class T, int Lines, int Length, bool AlongK, int Threads> struct TileCopier {
	static constexpr int chunk = 16 / static_cast<int>(sizeof(T)), pitch = Length * static_cast<int>(sizeof(T)) + 16, bytes = Lines * pitch;
	static constexpr int per_line = Length / chunk, apart = Threads / per_line, chunks = Lines / apart;
	static constexpr int rows_of_tile = AlongK ? Lines : Length, depth_of_tile = AlongK ? Length : Lines;
	static_assert(apart * per_line == Threads && chunks * apart == Lines, "as many chunks for every thread");

	const T *data, *from;
	int64_t beside, ahead; // elements from one chunk of the thread to the next, and to its first one of the next step
	int64_t left;          // of k, from its first chunk on
	int rows;              // of the operand, from its first chunk on
	int to;                // where that lies in a tile, in bytes

	template <class Operand, class Slot>
	__device__ TileCopier(const Operand &x, int64_t row0, int64_t all_rows, int64_t depth, Slot slot) {
		const int line = static_cast<int>(threadIdx.x) / per_line, at = static_cast<int>(threadIdx.x) % per_line * chunk;
		const int row = AlongK ? line : at, k = AlongK ? at : line;
		data = x.data, from = x.data + (row0 + row) * x.row_stride + k * x.k_stride;
		beside = apart * (AlongK ? x.row_stride : x.k_stride), ahead = depth_of_tile * x.k_stride;
		left = depth - k, rows = static_cast<int>(all_rows - row0 < rows_of_tile ? all_rows - row0 : rows_of_tile) - row;
		to = slot(line) * pitch + at * static_cast<int>(sizeof(T));
	}

	template <class Operand>
	__device__ TileCopier(const Operand &x, int64_t row0, int64_t all_rows, int64_t depth)
	    : TileCopier(x, row0, all_rows, depth, [](int line) { return line; }) {}

	// copy starts the copies of the next step; what lies beyond the operand becomes zero. Chunks lie within it or beyond it as a whole.
	__device__ void copy(AsyncCopies &copies, SharedAddress tile) {
#pragma unroll
		for (int i = 0; i < chunks; i++) {
			const bool valid = AlongK ? i * apart < rows && left > 0 : rows > 0 && i * apart < left;
			copies.copy16(tile + to + i * apart * pitch, valid ? from + i * beside : data, valid);
		}
		from += ahead, left -= depth_of_tile;
	}
};

// CopiedTiles are pairs of tiles in shared memory, of which all but one are copied ahead: Stages of them, in `bytes` of dynamic shared memory.
template <class CopierA, class CopierB, int Stages> struct CopiedTiles {
	static constexpr int stage_bytes = CopierA::bytes + CopierB::bytes, bytes = Stages * stage_bytes;

	// allow lets a kernel have more than the 48 KB that it needs not ask for; before each launch.
	template <class Kernel> static cudaError_t allow(Kernel *kernel) {
		return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
	}

	// each_step calls step(tile of a, tile of b) for one pair after the other. All threads of the block take part.
	template <class Step> __device__ static void each_step(unsigned char *memory, CopierA a, CopierB b, int64_t steps, Step step) {
		const SharedAddress shared = shared_address(memory);
		AsyncCopies copies;
		const auto tiles_of = [&](int64_t at) { return shared + static_cast<int>(at % Stages) * stage_bytes; };
		const auto fetch = [&](int64_t at) {
			if (at < steps) {
				a.copy(copies, tiles_of(at));
				b.copy(copies, tiles_of(at) + CopierA::bytes);
			}
			copies.commit(); // of nothing, too: waits count groups
		};
#pragma unroll
		for (int at = 0; at < Stages - 1; at++) fetch(at);
		for (int64_t at = 0; at < steps; at++) {
			copies.template wait<Stages - 2>();
			__syncthreads(); // these tiles are whole, and all are done with those of the step before
			fetch(at + Stages - 1);
			step(tiles_of(at), tiles_of(at) + CopierA::bytes);
		}
	}
};

// MmaTile is one step of an operand: Rows of it, Mma::k of the reduction, in lines along the dim that is contiguous in memory.
template <int Rows, bool AlongK> struct MmaTile {
	static constexpr int lines = AlongK ? Rows : Mma::k, length = AlongK ? Mma::k : Rows;
	template <class T> using Copier = TileCopier<T, lines, length, AlongK, Mma::threads>;
	static constexpr int pitch = Copier<uint16_t>::pitch, bytes = Copier<uint16_t>::bytes;

	// load reads 16 rows from row on and 16 of k from k on as the four 8 x 8 matrices of an operand: in the order of A (rows first), or of B, where
	// the two of eight rows follow each other.
	template <bool RowsFirst> __device__ static void load(uint32_t (&r)[4], SharedAddress tile, int row, int k) {
		const int lane = static_cast<int>(threadIdx.x) % 32;
		const int low = lane % 16, high = lane / 16, eight = lane / 16 * 8 + lane % 8, pair = lane / 8 % 2;
		if constexpr (AlongK) {
			const int line = row + (RowsFirst ? low : eight), at = k + (RowsFirst ? high : pair) * 8;
			load_matrices(r, tile + line * pitch + at * 2);
		} else {
			const int line = k + (RowsFirst ? eight : low), at = row + (RowsFirst ? pair : high) * 8;
			load_transposed(r, tile + line * pitch + at * 2);
		}
	}
};

// step adds the products of one pair of tiles to a warp's sums.
template <class T, class TileA, class TileB>
__device__ inline void mma_step(float (&sum)[Mma::warp_m / 16][Mma::warp_n / 8][4], SharedAddress a, SharedAddress b, int row,
                                int col) {
#pragma unroll
	for (int k = 0; k < Mma::k; k += 16) {
		uint32_t left[Mma::warp_m / 16][4], right[Mma::warp_n / 16][4];
#pragma unroll
		for (int i = 0; i < Mma::warp_m / 16; i++) TileA::template load<true>(left[i], a, row + 16 * i, k);
#pragma unroll
		for (int j = 0; j < Mma::warp_n / 16; j++) TileB::template load<false>(right[j], b, col + 16 * j, k);
#pragma unroll
		for (int i = 0; i < Mma::warp_m / 16; i++)
#pragma unroll
			for (int j = 0; j < Mma::warp_n / 8; j++)
				Multiply<T>::add(sum[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
	}
}

// MmaProduct is a block's part of y[i,j] = sum_k a[i,k] b[j,k]: of rows x cols elements those from row0 and col0 on. depth is the length of the sum.
template <class Operand> struct MmaProduct {
	Operand a, b;
	int64_t row0, rows, col0, cols, depth;
};

template <class T, class TileA, class TileB>
using MmaTiles = CopiedTiles<typename TileA::template Copier<T>, typename TileB::template Copier<T>, Mma::stages>;

// MmaSums are a warp's elements of the part: a lane has those of rows lane / 4 and 8 more, of columns 2 (lane % 4) and the next one.
template <class T> struct MmaSums {
	float sum[Mma::warp_m / 16][Mma::warp_n / 8][4] = {};
	int64_t row0, rows, col0, cols; // the first row and column of the lane, and how many there are

	// MmaSums of a block's part whose first element is (from_row, from_col).
	__device__ MmaSums(int64_t from_row, int64_t all_rows, int64_t from_col, int64_t all_cols)
	    : row0(from_row + warp_row() + threadIdx.x % 32 / 4), rows(all_rows), col0(from_col + warp_col() + threadIdx.x % 4 * 2), cols(all_cols) {}

	// Where the warp's elements begin in the block's part.
	__device__ static int warp_row() { return static_cast<int>(threadIdx.x) / 32 / 2 * Mma::warp_m; }
	__device__ static int warp_col() { return static_cast<int>(threadIdx.x) / 32 % 2 * Mma::warp_n; }

	// each calls store(row, col, sum) for each element.
	template <class Store> __device__ void each(Store store) const {
#pragma unroll
		for (int i = 0; i < Mma::warp_m / 16; i++)
#pragma unroll
			for (int j = 0; j < Mma::warp_n / 8; j++)
#pragma unroll
				for (int e = 0; e < 4; e++) {
					const int64_t row = row0 + 16 * i + e / 2 * 8, col = col0 + 8 * j + e % 2;
					if (row < rows && col < cols) store(row, col, sum[i][j][e]);
				}
	}

	// each_pair calls f(row, col, sum, sum of the next column) for two neighbours at once, of an even number of columns; f may change them.
	template <class Pair> __device__ void each_pair(Pair f) {
#pragma unroll
		for (int i = 0; i < Mma::warp_m / 16; i++)
#pragma unroll
			for (int half = 0; half < 2; half++)
#pragma unroll
				for (int j = 0; j < Mma::warp_n / 8; j++) {
					const int64_t row = row0 + 16 * i + 8 * half, col = col0 + 8 * j;
					if (row < rows && col < cols) f(row, col, sum[i][j][2 * half], sum[i][j][2 * half + 1]);
				}
	}

	// store_values writes value(i, j, e), made of what sum[i][j][e] is, of the first Eights * 8 columns of a warp to y [rows, cols], which is aligned to
	// 16 bytes and has whole vectors of 16 bytes as rows. The four lanes of a row exchange what they have of 32 columns, so that each writes 8
	// neighbours at once.
	template <int Eights, class Value> __device__ void store_values(T *y, Value value) const {
		const int quad = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
		for (int i = 0; i < Mma::warp_m / 16; i++)
#pragma unroll
			for (int j = 0; j < Eights; j += 4)
#pragma unroll
				for (int half = 0; half < 2; half++) {
					uint32_t words[4];
#pragma unroll
					for (int e = 0; e < 4; e++) words[e] = pack_pair<T>(value(i, j + e, 2 * half), value(i, j + e, 2 * half + 1));
					transpose_quad(words, quad);
					const int64_t row = row0 + 16 * i + 8 * half, col = col0 - 2 * quad + 8 * (j + quad);
					if (row < rows && col < cols) *reinterpret_cast<uint4 *>(y + row * cols + col) = {words[0], words[1], words[2], words[3]};
				}
	}

	// store_rows writes scale times the sums.
	__device__ void store_rows(T *y, float scale) const {
		store_values<Mma::warp_n / 8>(y, [&](int i, int j, int e) { return scale * sum[i][j][e]; });
	}
};

// mma_add adds a product to sums, of the operands whose tiles a and b copy. memory is that of MmaTiles, aligned to 16; between two calls there is a
// barrier.
template <class T, class TileA, class TileB, class CopierA, class CopierB>
__device__ inline void mma_add(unsigned char *memory, MmaSums<T> &sums, CopierA a, CopierB b, int64_t depth) {
	const int row = sums.warp_row(), col = sums.warp_col();
	CopiedTiles<CopierA, CopierB, Mma::stages>::each_step(
	    memory, a, b, (depth + Mma::k - 1) / Mma::k, [&](SharedAddress at, SharedAddress bt) { mma_step<T, TileA, TileB>(sums.sum, at, bt, row, col); });
}

// mma_product adds up the part.
template <class T, class TileA, class TileB, class Operand>
__device__ inline MmaSums<T> mma_product(unsigned char *memory, const MmaProduct<Operand> &p) {
	MmaSums<T> sums(p.row0, p.rows, p.col0, p.cols);
	mma_add<T, TileA, TileB>(memory, sums, typename TileA::template Copier<T>(p.a, p.row0, p.rows, p.depth),
	                         typename TileB::template Copier<T>(p.b, p.col0, p.cols, p.depth), p.depth);
	return sums;
}

// y [rows, cols] = sum_k a[row,k] b[col,k] in fp32, of operands that lie along k; a block a tile.
template <class T>
__global__ void __launch_bounds__(Mma::threads, 2)
    mma_fp32_kernel(MmaOperand<T> a, MmaOperand<T> b, float *y, int64_t rows, int64_t cols, int64_t depth) {
	using Tile = MmaTile<Mma::m, true>;
	static_assert(Mma::m == Mma::n, "both tiles are alike");
	extern __shared__ __align__(16) unsigned char mma_tiles[];
	const int64_t across = (cols + Mma::n - 1) / Mma::n;
	const MmaProduct<MmaOperand<T>> part = {a, b, blockIdx.x / across * Mma::m, rows, blockIdx.x % across * Mma::n, cols, depth};
	mma_product<T, Tile, Tile>(mma_tiles, part).each([&](int64_t row, int64_t col, float sum) { y[row * cols + col] = sum; });
}

} // namespace hopper
} // namespace triad
#endif
