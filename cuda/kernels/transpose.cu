// transpose: y[c,r] = x[r,c]          backward: dx[r,c] = dy[c,r], the transpose of dy
// Layout   x, dx: [rows, cols]; y, dy: [cols, rows]; fp32, fp16, bf16: elements are moved, never converted. Outputs are contiguous.
// Limits   rows or cols = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Harris 2013, An Efficient Matrix Transpose in CUDA C/C++, NVIDIA developer blog
//   naive      a thread an element, any strides; a warp reads neighbours and writes 32 places far apart
//   tiled      tiles of 32 x 32 through shared memory: a warp reads and writes neighbours; any strides of the
//              input. Costs: a barrier, and columns that lie in one bank
//   padded     as tiled, with rows of 33 elements in shared memory: its columns lie in 32 banks. Costs: 3 %
//              more shared memory
//   swizzled   as padded, without the spare column: element (r, c) of a tile lies at column c ^ r. Costs: an
//              exclusive or for each access
//   vec        16-byte accesses: a thread turns a square of one pack a side in its registers, and tiles of 16 x
//              16 squares go through shared memory. Costs: registers for a square, and sizes that are
//              multiples of a pack
#include "element.cuh"
#include "pack.cuh"
#include "rows.cuh"
#include "spec/transpose.cuh"
#include "turned_tile.cuh"

namespace {

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------

// One line each way: the index of the input's element, and of the output's. Reads are coalesced, writes are not: each of a warp's 32 elements
// goes to another row of y, and so to another 32-byte sector, of which it writes 2 or 4 bytes.
template <class T> __global__ void transpose_naive_kernel(triad::Matrix<const T> x, T *y, int64_t rows, int64_t cols) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < rows * cols) y[i % cols * rows + i / cols] = x(i / cols, i % cols);
}

constexpr int edge = 32;         // of a tile: a warp reads or writes one of its rows
constexpr int warps = 8;         // of a block: each has every eighth row of the tile
constexpr int threads = 32 * warps;

// A block's tile: the row and the column of x where it begins.
struct Tile {
	int64_t row, col;

	__device__ explicit Tile(int64_t cols) {
		const int64_t across = (cols + edge - 1) / edge;
		row = blockIdx.x / across * edge;
		col = blockIdx.x % across * edge;
	}
};

// Adds a stop in shared memory: rows of the tile come in, its columns go out, and both are runs of 32 neighbours in global memory. Costs a
// barrier, and conflicts: the 32 elements of a column of the tile are 32 words apart, all in one bank, so that a warp reads them one by one.
template <class T> __global__ void transpose_tiled_kernel(triad::Matrix<const T> x, T *y, int64_t rows, int64_t cols) {
	__shared__ T tile[edge][edge];
	const Tile at(cols);
	const int lane = threadIdx.x, warp = threadIdx.y;
	for (int r = warp; r < edge; r += warps)
		if (at.row + r < rows && at.col + lane < cols) tile[r][lane] = x(at.row + r, at.col + lane);
	__syncthreads();
	for (int c = warp; c < edge; c += warps)
		if (at.col + c < cols && at.row + lane < rows) y[(at.col + c) * rows + at.row + lane] = tile[lane][c];
}

// Adds a column that nobody uses: the elements of a column of the tile are 33 words apart, in 32 different banks. Costs 3 % more shared memory.
// Of 16-bit elements two share a word, and rows of 33 half words begin in the middle of one: pairs of lanes still meet in a bank.
template <class T> __global__ void transpose_padded_kernel(triad::Matrix<const T> x, T *y, int64_t rows, int64_t cols) {
	__shared__ T tile[edge][edge + 1];
	const Tile at(cols);
	const int lane = threadIdx.x, warp = threadIdx.y;
	for (int r = warp; r < edge; r += warps)
		if (at.row + r < rows && at.col + lane < cols) tile[r][lane] = x(at.row + r, at.col + lane);
	__syncthreads();
	for (int c = warp; c < edge; c += warps)
		if (at.col + c < cols && at.row + lane < rows) y[(at.col + c) * rows + at.row + lane] = tile[lane][c];
}

// Takes the column away again: row r keeps its element c at c ^ r. That is a permutation of the row, and for a fixed c another column in every
// row, so that neither rows nor columns of the tile meet in a bank. Costs an exclusive or for each access.
template <class T> __global__ void transpose_swizzled_kernel(triad::Matrix<const T> x, T *y, int64_t rows, int64_t cols) {
	__shared__ T tile[edge][edge];
	const Tile at(cols);
	const int lane = threadIdx.x, warp = threadIdx.y;
	for (int r = warp; r < edge; r += warps)
		if (at.row + r < rows && at.col + lane < cols) tile[r][lane ^ r] = x(at.row + r, at.col + lane);
	__syncthreads();
	for (int c = warp; c < edge; c += warps)
		if (at.col + c < cols && at.row + lane < rows) y[(at.col + c) * rows + at.row + lane] = tile[lane][c ^ lane];
}

// Moves 16 bytes at a time: V packs of V elements are a square, turned in registers, whose columns are packs again. A tile of 16 x 16 squares stops in
// shared memory, so that the 16 threads of a group read 256 bytes of a row of x together, and write 256 bytes of a row of y. Costs registers for a
// square, a barrier, and sizes that are multiples of a pack.
template <class T> __global__ void __launch_bounds__(triad::TurnedTile<T>::threads) transpose_vec_kernel(triad::Rows<const T> x, T *y, int64_t rows, int64_t cols) {
	using Turned = triad::TurnedTile<T>;
	constexpr int V = Turned::V;
	__shared__ Turned tile;
	const int64_t tiles_across = (cols + Turned::side - 1) / Turned::side;
	const int64_t row0 = blockIdx.x / tiles_across * Turned::side, col0 = blockIdx.x % tiles_across * Turned::side;
	const int64_t row = row0 + Turned::down() * V, col = col0 + Turned::across() * V;
	triad::Pack<T, V> in[V];
#pragma unroll
	for (int r = 0; r < V; r++)
		if (row < rows && col < cols) in[r] = triad::fetch<V>(x.row(row + r) + col);
	tile.put(in);
	tile.each_pack([&](int line, int pack, uint4 words) {
		if (col0 + line < cols && row0 + pack * V < rows) __stcs(reinterpret_cast<uint4 *>(y + (col0 + line) * rows + row0 + pack * V), words);
	});
}

// ---- launchers: the backward is the forward of dy -----------------------------------------------------------------------------------------

template <class T> T *output(const triad_call *call) { return static_cast<T *>(call->out[0].data); }
template <class T> triad::Matrix<const T> matrix(const triad_call *call) { return triad::Matrix<const T>(call->in[0]); }

unsigned tiles(int64_t rows, int64_t cols) { return static_cast<unsigned>((rows + edge - 1) / edge * ((cols + edge - 1) / edge)); }

template <class T> int transpose_naive(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	if (rows * cols == 0) return TRIAD_OK;
	transpose_naive_kernel<T><<<triad::blocks_for(rows * cols, threads), threads, 0, triad::stream_of(call)>>>(
	    matrix<T>(call), output<T>(call), rows, cols);
	return triad::launched();
}

template <class T> int transpose_tiled(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	if (rows * cols == 0) return TRIAD_OK;
	transpose_tiled_kernel<T><<<tiles(rows, cols), dim3(32, warps), 0, triad::stream_of(call)>>>(
	    matrix<T>(call), output<T>(call), rows, cols);
	return triad::launched();
}

template <class T> int transpose_padded(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	if (rows * cols == 0) return TRIAD_OK;
	transpose_padded_kernel<T><<<tiles(rows, cols), dim3(32, warps), 0, triad::stream_of(call)>>>(
	    matrix<T>(call), output<T>(call), rows, cols);
	return triad::launched();
}

template <class T> int transpose_swizzled(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	if (rows * cols == 0) return TRIAD_OK;
	transpose_swizzled_kernel<T><<<tiles(rows, cols), dim3(32, warps), 0, triad::stream_of(call)>>>(
	    matrix<T>(call), output<T>(call), rows, cols);
	return triad::launched();
}

template <class T> int transpose_vec(const triad_call *call) {
	constexpr int64_t side = triad::TurnedTile<T>::side;
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	if (rows * cols == 0) return TRIAD_OK;
	const int64_t blocks = (rows + side - 1) / side * ((cols + side - 1) / side);
	transpose_vec_kernel<T><<<static_cast<unsigned>(blocks), triad::TurnedTile<T>::threads, 0, triad::stream_of(call)>>>(
	    triad::Rows<const T>(call->in[0]), output<T>(call), rows, cols);
	return triad::launched();
}

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(transpose, naive, forward, .contract("exact").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(transpose_naive)))
TRIAD_KERNEL(transpose, tiled, forward, .contract("exact").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(transpose_tiled)))
TRIAD_KERNEL(transpose, padded, forward, .contract("exact").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(transpose_padded)))
TRIAD_KERNEL(transpose, swizzled, forward, .contract("exact").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(transpose_swizzled)))
TRIAD_KERNEL(transpose, vec, forward,
             .contract("exact").dtypes(triad::floats).outputs(1).limits(triad::vector_rows()).launch(TRIAD_BY_DTYPE(transpose_vec)))
TRIAD_KERNEL(transpose, naive, backward, .contract("exact").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(transpose_naive)))
TRIAD_KERNEL(transpose, tiled, backward, .contract("exact").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(transpose_tiled)))
TRIAD_KERNEL(transpose, padded, backward, .contract("exact").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(transpose_padded)))
TRIAD_KERNEL(transpose, swizzled, backward, .contract("exact").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(transpose_swizzled)))
TRIAD_KERNEL(transpose, vec, backward,
             .contract("exact").dtypes(triad::floats).outputs(1).limits(triad::vector_rows()).launch(TRIAD_BY_DTYPE(transpose_vec)))
