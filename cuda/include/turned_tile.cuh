// turned_tile.cuh: a matrix turned round by a block, tile by tile, with 16-byte accesses on both sides. A thread turns a square of one pack a side in its
// registers, and 16 x 16 squares go through shared memory, so that runs of 256 bytes are read and written.
#ifndef TRIAD_TURNED_TILE_CUH
#define TRIAD_TURNED_TILE_CUH
#include <cuda_runtime.h>

#include "pack.cuh"

namespace triad {

// TurnedTile<T> is the tile in shared memory: `side` lines, which were columns. The packs of a line change places, so that neither the packs that a
// warp puts nor those that it takes meet in a bank.
template <class T> struct TurnedTile {
	static constexpr int V = vector<T>, squares = 16, side = squares * V, threads = squares * squares; // squares of a side

	uint4 packs[side][squares];

	// The square of a thread: its place among those of a row of the matrix, and the row of squares.
	__device__ static int across() { return static_cast<int>(threadIdx.x) % squares; }
	__device__ static int down() { return static_cast<int>(threadIdx.x) / squares; }

	__device__ void put(const Pack<T, V> (&rows)[V]) {
#pragma unroll
		for (int c = 0; c < V; c++) {
			Pack<T, V> column;
#pragma unroll
			for (int r = 0; r < V; r++) column.at[r] = rows[r].at[c];
			packs[across() * V + c][down() ^ across()] = make_uint4(word(column, 0), word(column, 1), word(column, 2), word(column, 3));
		}
	}

	// each_pack calls take(line, pack of the line, its 16 bytes) for a thread's share, after a barrier.
	template <class Take> __device__ void each_pack(Take take) const {
		__syncthreads();
#pragma unroll
		for (int i = 0; i < V; i++) {
			const int line = i * squares + down();
			take(line, across(), packs[line][across() ^ line / V]);
		}
	}
};

} // namespace triad
#endif
