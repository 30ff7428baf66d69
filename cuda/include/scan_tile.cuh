// scan_tile.cuh: the elements of which a block makes running sums.
#ifndef TRIAD_SCAN_TILE_CUH
#define TRIAD_SCAN_TILE_CUH
#include <cstring>

#include "hopper/async_copy.cuh"
#include "scan.cuh"
#include "sums.cuh"

namespace triad {

// A thread's elements lie as in memory: in registers, or in slots of its own in shared memory.
template <int Threads, int Rows> struct InRegisters {
	uint4 held[Rows];
	__device__ uint4 &operator[](int row) { return held[row]; }
};
template <int Threads, int Rows> struct InShared {
	uint4 *slots;
	__device__ uint4 &operator[](int row) { return slots[row * Threads]; }
};

// ScanTile is the elements that a block scans: each warp has neighbouring rows of 32 packs of 16 bytes, each lane a pack of every row.
template <class T, int Threads, int Rows, template <int, int> class Where> struct ScanTile {
	static constexpr int V = vector<T>, elements = Threads * V * Rows;
	Where<Threads, Rows> raw;
	SumType<T> before[Rows]; // what is before the lane's elements of a row within the block

	// where a row of the lane begins in the tile
	__device__ static int place(int row) { return ((static_cast<int>(threadIdx.x) / 32 * Rows + row) * 32 + static_cast<int>(threadIdx.x) % 32) * V; }

	// how many of the tile's elements there are
	__device__ static int inside(int64_t tile, int64_t n) {
		const int64_t left = n - tile * elements;
		return static_cast<int>(left < elements ? left : elements);
	}

	// Elements beyond n count as 0.
	__device__ static uint4 ragged(const T *from, int at, int end) {
		Pack<T, V> pack;
#pragma unroll
		for (int j = 0; j < V; j++) pack.at[j] = at + j < end ? from[at + j] : from_sum<T>(SumType<T>(0));
		uint4 raw;
		memcpy(&raw, &pack, sizeof pack);
		return raw;
	}

	// aligned: x begins at a multiple of 16 bytes.
	__device__ void load(const T *x, int64_t tile, int64_t n, bool aligned) {
		const T *from = x + tile * elements;
		const int end = inside(tile, n);
#pragma unroll
		for (int r = 0; r < Rows; r++) {
			const int at = place(r);
			raw[r] = aligned && at + V <= end ? *reinterpret_cast<const uint4 *>(from + at) : ragged(from, at, end);
		}
	}

	// copy does so past the registers, where x is aligned. A thread waits for its own copies, and no barrier is needed.
	__device__ void copy(const T *x, int64_t tile, int64_t n) {
		const T *from = x + tile * elements;
		const int end = inside(tile, n);
		hopper::AsyncCopies copies;
#pragma unroll
		for (int r = 0; r < Rows; r++) {
			const int at = place(r);
			if (at + V <= end) copies.copy16(hopper::shared_address(&raw[r]), from + at, true);
			else raw[r] = ragged(from, at, end);
		}
		copies.commit();
		copies.wait<0>();
	}

	__device__ void unpack(int row, SumType<T> (&v)[V]) {
		__syncwarp(); // or ptxas reads all rows first, and spills
		const uint4 here = raw[row];
		Pack<T, V> pack;
		memcpy(&pack, &here, sizeof pack);
		sums_of(pack, v);
	}

	__device__ SumType<T> sum_of(int row) {
		SumType<T> v[V], sum = 0;
		unpack(row, v);
#pragma unroll
		for (int j = 0; j < V; j++) sum += v[j];
		return sum;
	}

	// sum is that of the thread's elements.
	__device__ SumType<T> sum() {
		SumType<T> all = 0;
#pragma unroll
		for (int r = 0; r < Rows; r++) all += sum_of(r);
		return all;
	}

	// scan fills before and gives the sum of the tile.
	__device__ SumType<T> scan() {
		SumType<T> warp = 0; // the sum of the warp's rows so far
#pragma unroll
		for (int r = 0; r < Rows; r++) {
			const SumType<T> own = sum_of(r), in_row = before_in_warp(own);
			before[r] = warp + in_row;
			warp += __shfl_sync(all_lanes, in_row + own, 31);
		}
		SumType<T> total;
		// one lane of a warp stands for it
		const SumType<T> warps = before_in_block<Threads>(threadIdx.x % 32 == 0 ? warp : SumType<T>(0), total);
		const SumType<T> earlier = __shfl_sync(all_lanes, warps, 0);
#pragma unroll
		for (int r = 0; r < Rows; r++) before[r] += earlier;
		return total;
	}

	// store writes the outputs, where so much is before the tile.
	__device__ void store(T *y, int64_t tile, int64_t n, SumType<T> before_tile, bool exclusive, bool aligned) {
		T *to = y + tile * elements;
		const int end = inside(tile, n);
#pragma unroll
		for (int r = 0; r < Rows; r++) {
			const int at = place(r);
			SumType<T> sum = before_tile + before[r], v[V], out[V];
			unpack(r, v);
#pragma unroll
			for (int j = 0; j < V; j++) {
				const SumType<T> through = sum + v[j];
				out[j] = exclusive ? sum : through;
				sum = through;
			}
			if (aligned && at + V <= end) {
				store_sums(to + at, out);
			} else {
#pragma unroll
				for (int j = 0; j < V; j++)
					if (at + j < end) to[at + j] = from_sum<T>(out[j]);
			}
		}
	}
};

} // namespace triad
#endif
