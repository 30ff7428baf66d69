// row_ring.cuh: rows of several matrices that pass through a ring in shared memory, for kernels that read every row once and keep sums over the
// rows of their own columns in registers: the backward of a row normalisation.
#ifndef TRIAD_HOPPER_ROW_RING_CUH
#define TRIAD_HOPPER_ROW_RING_CUH
#include "element.cuh"
#include "hopper/async_copy.cuh"
#include "hopper/finish.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "row_sums.cuh"
#include "rows.cuh"

namespace triad {

// Raw is a pack as it waits for its use: 16 bytes in four registers, where 16-bit elements on their own would take one each.
using Raw = uint4;

// How a ring kernel spreads its work: blocks of 512 threads, one a multiprocessor; Group threads share a row of each of Matrices matrices and keep
// Items columns of each of Sums sums. Stages rows a group are on their way in shared memory: more than two, or more threads, were slower on an H200.
template <class T, int Matrices_, int Sums_, int Group_, int Items_, int Stages_ = 2> struct RingShape {
	using Element = T;
	static constexpr int Threads = 512, Stages = Stages_, Group = Group_, Items = Items_, Groups = Threads / Group, Warps = Group / warp_size;
	static constexpr int Matrices = Matrices_, Sums = Sums_;
	static constexpr int V = vector<T>, Packs = Items / V, cols = Group * Items; // at most
	static constexpr bool KeepRow = Items <= 16; // in registers between its two uses; else it is read from shared memory again
	static constexpr int bytes = Stages * Matrices * Packs * Threads * 16;     // dynamic shared memory
	static constexpr int scratch_floats = 2 * Groups * 2 * Warps;              // static shared memory
	static constexpr int shared_bytes = bytes + scratch_floats * static_cast<int>(sizeof(float));
	static_assert(KeepRow || Stages > 1, "a row that is read again leaves no room for the next one");
	static_assert(Items % V == 0 && Group % warp_size == 0 && Threads % Group == 0, "whole packs, warps and groups only");
	static_assert(bytes >= Sums * Groups * cols * static_cast<int>(sizeof(float)), "the ring's memory holds the sums of all groups in the end");
};

constexpr int ring_memory_bytes = 227 << 10; // of a block on Hopper

// by_ring is use(shape) of the ring kernel's shape for so many columns; false where there is none. Two rows are on their way where there is room
// for them, or one.
template <class T, int Matrices, int Sums, class Use> bool by_ring(int64_t cols, Use use) {
	constexpr int stages = RingShape<T, Matrices, Sums, 32, 16>::shared_bytes <= ring_memory_bytes ? 2 : 1;
	if (cols <= 32 * 16) return use(RingShape<T, Matrices, Sums, 32, 16, stages>());
	if (cols <= 64 * 16) return use(RingShape<T, Matrices, Sums, 64, 16, stages>());
	if (cols <= 128 * 16) return use(RingShape<T, Matrices, Sums, 128, 16, stages>());
	if (cols <= 256 * 16) return use(RingShape<T, Matrices, Sums, 256, 16, stages>());
	if (cols <= 512 * 16) return use(RingShape<T, Matrices, Sums, 512, 16, stages>());
	if constexpr (RingShape<T, Matrices, Sums, 512, 32>::shared_bytes <= ring_memory_bytes) {
		if (cols <= 512 * 32) return use(RingShape<T, Matrices, Sums, 512, 32>());
	}
	return false;
}

// The rows of a group, on their way in shared memory, [stage][matrix][pack][thread]: a thread finds the packs that it has copied itself, so that it
// waits for its own copies alone. Blocks side by side take neighbouring rows, and all groups as many but for one.
template <class Shape> class Ring {
public:
	using T = typename Shape::Element;

	const int turns; // of the block: a row for each of its groups

	__device__ Ring(const Rows<const T> *matrices, unsigned char *memory, int64_t rows, int columns)
	    : turns(share(rows, blockIdx.x)), first(threadIdx.x / Shape::Group * gridDim.x + blockIdx.x), count(share(rows, first)), cols(columns),
	      from(matrices), own(memory + threadIdx.x * 16), to(hopper::shared_address(own)) {}

	__device__ int column(int pack) const { return (static_cast<int>(threadIdx.x) % Shape::Group + pack * Shape::Group) * Shape::V; }
	__device__ int64_t row(int turn) const { return first + turn * static_cast<int64_t>(gridDim.x * Shape::Groups); }
	__device__ bool has(int turn) const { return turn < count; }
	__device__ Raw raw(int matrix, int stage, int pack) const { return *reinterpret_cast<const Raw *>(own + offset(stage, matrix, pack)); }

	// Asks for the row of a turn; zeros come where there is none. A group of copies is committed in any case, so that wait counts turns.
	__device__ void ask(int turn, int stage) {
		if (turn < turns) {
			const bool valid = has(turn);
			const int64_t at = valid ? row(turn) : 0;
#pragma unroll
			for (int p = 0; p < Shape::Packs; p++) {
				if (column(p) >= cols) continue;
#pragma unroll
				for (int m = 0; m < Shape::Matrices; m++)
					copies.copy16(to + offset(stage, m, p), from[m].row(at) + column(0) + p * Shape::Group * Shape::V, valid);
			}
		}
		copies.commit();
	}
	__device__ void wait() { copies.template wait<Shape::Stages - 1>(); }

private:
	// How many of the rows from `start` on, a row for each group of the grid apart, there are.
	static __device__ int share(int64_t rows, unsigned start) {
		const int64_t gap = gridDim.x * Shape::Groups;
		return static_cast<int>(rows > start ? (rows - start + gap - 1) / gap : 0);
	}
	static __device__ int offset(int stage, int matrix, int pack) {
		return ((stage * Shape::Matrices + matrix) * Shape::Packs + pack) * Shape::Threads * 16;
	}

	const unsigned first; // row of the group
	const int count;      // rows of the group
	const int cols;
	const Rows<const T> *from; // Matrices of them
	unsigned char *own;
	hopper::SharedAddress to;
	hopper::AsyncCopies copies;
};

// Adds up a value over a group of threads of a ring's block, all of which get the total; all threads of the block take part. scratch: Group / 32
// floats that the call before did not use.
template <int Group> __device__ inline float group_sum(float v, float *scratch) {
	constexpr int warps = Group / warp_size;
	const int lane = static_cast<int>(threadIdx.x) % warp_size;
	float sum = warp_reduce(v, Sum());
	if constexpr (warps > 1) {
		if (lane == 0) scratch[static_cast<int>(threadIdx.x) % Group / warp_size] = sum;
		__syncthreads();
		sum = warp_reduce<warps>(scratch[lane % warps], Sum());
	}
	return sum;
}

// The same of two values, with scratch: 2 * Group / 32 floats that the call before did not use. Half of
// the lanes of a warp add up the one and half the other.
template <int Group> __device__ inline Two group_sum(Two v, float *scratch) {
	constexpr int warps = Group / warp_size, lanes = warp_size / 2;
	const int lane = static_cast<int>(threadIdx.x) % warp_size, which = lane / lanes;
	const float kept = which == 0 ? v.first : v.second, given = which == 0 ? v.second : v.first;
	float sum = warp_reduce<lanes>(kept + shuffle_xor(given, lanes), Sum());
	if constexpr (warps > 1) {
		if (lane % lanes == 0) scratch[which * warps + static_cast<int>(threadIdx.x) % Group / warp_size] = sum;
		__syncthreads();
		sum = warp_reduce<warps>(scratch[which * warps + lane % warps], Sum());
	}
	return {__shfl_sync(all_lanes, sum, 0), __shfl_sync(all_lanes, sum, lanes)};
}

// Writes what a block found: the sums of its groups, added in their order. The ring is empty and its memory free for them: [group][sum][column].
template <class Shape>
__device__ inline void put_sums(const Ring<Shape> &ring, unsigned char *memory, const RowSums<Shape::Sums> &sums, int cols,
                                const float (&found)[Shape::Sums][Shape::Packs][Shape::V]) {
	float *all = reinterpret_cast<float *>(memory);
	__syncthreads();
#pragma unroll
	for (int p = 0; p < Shape::Packs; p++) { // zeros beyond the last column
#pragma unroll
		for (int s = 0; s < Shape::Sums; s++)
			put_shared(all + (threadIdx.x / Shape::Group * Shape::Sums + s) * Shape::cols + ring.column(p), found[s][p]);
	}
	__syncthreads();
	for (int i = threadIdx.x * 4; i < Shape::Sums * Shape::cols; i += Shape::Threads * 4) {
		if (i % Shape::cols >= cols) continue;
		float total[4] = {};
#pragma unroll
		for (int g = 0; g < Shape::Groups; g++) {
			float one[4];
			load(all + g * Shape::Sums * Shape::cols + i, one);
#pragma unroll
			for (int j = 0; j < 4; j++) total[j] += one[j];
		}
		sums.put(blockIdx.x, i / Shape::cols, cols, i % Shape::cols, total);
	}
}

} // namespace triad
#endif
