// Stands in for the part of NVIDIA's CUB that threads of a warp and of a block use together: reductions and scans. As there, a reduction is whole in
// thread 0 alone, storage must not be used again before a barrier, and nothing is synchronised behind the last read of it. The rank of a thread in its
// block is computed from the template's dimensions and not from the launch's. What touches a block's storage is inlined, so that an access has the line of
// the kernel that calls it.
#ifndef CUEMU_CUB
#define CUEMU_CUB

#include "../cuda_runtime.h"

#include "../cuemu/names_aside.h"

namespace cub {

struct Sum {
	template <class T> __host__ __device__ T operator()(const T &a, const T &b) const { return a + b; }
};
struct Max {
	template <class T> __host__ __device__ T operator()(const T &a, const T &b) const { return b > a ? b : a; }
};
struct Min {
	template <class T> __host__ __device__ T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};

enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };

inline unsigned cuemu_cub_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }

// What blocks of the template's dimensions are: ranks, and whether those of the launch are such blocks.
template <int X, int Y, int Z> struct cuemu_cub_block {
	static const int Threads = X * Y * Z, Warps = (Threads + 31) / 32;
	static int rank() {
		return static_cast<int>(threadIdx.x + (Y == 1 ? 0 : threadIdx.y * X) + (Z == 1 ? 0 : threadIdx.z * X * Y));
	}
	// must_be: stops where threads share a rank, or where one of the first `valid` ranks has no thread.
	static void must_be(const char *what, int valid, const char *file, int line) {
		const unsigned all = blockDim.x * blockDim.y * blockDim.z;
		const bool own_ranks = (blockDim.y == 1 || (Y != 1 && blockDim.x == X)) && (blockDim.z == 1 || (Z != 1 && blockDim.x * blockDim.y == X * Y));
		if (!own_ranks || all > Threads || static_cast<unsigned>(valid) > all) cuemu_wrong_block(what, X, Y, Z, file, line);
	}
};

// The lanes beside each other that this thread is one of, as far as the block has them.
inline unsigned cuemu_cub_lanes(int lanes) {
	const unsigned thread = cuemu_cub_thread(), lane = thread % 32, all = blockDim.x * blockDim.y * blockDim.z;
	const unsigned left = all - (thread - lane), there = left < 32 ? (1u << left) - 1 : ~0u;
	return lanes == 32 ? there : there & (((1u << lanes) - 1) << (lane - lane % static_cast<unsigned>(lanes)));
}

// The value of another lane, of any type that can be copied byte by byte.
template <class T> inline T cuemu_cub_lane(unsigned mask, const T &value, int from) {
	static_assert(__is_trivially_copyable(T), "values of a warp are copied byte by byte");
	unsigned words[(sizeof(T) + 3) / 4] = {};
	__builtin_memcpy(words, &value, sizeof(T));
	for (unsigned &word : words) word = __shfl_sync(mask, word, from);
	T there = value;
	__builtin_memcpy(&there, words, sizeof(T));
	return there;
}

template <class T, int Lanes = 32> class WarpReduce {
public:
	struct TempStorage {
		char none;
	};
	explicit WarpReduce(TempStorage &) {}
	template <class Op> T Reduce(T value, Op op, int valid = Lanes) {
		const int lane = static_cast<int>(cuemu_cub_thread() % 32), own = lane % Lanes;
		const unsigned mask = cuemu_cub_lanes(Lanes);
		for (int step = 1; step < Lanes; step *= 2) {
			const bool there = own + step < Lanes && (mask >> (lane + step)) & 1;
			T other = cuemu_cub_lane(mask, value, there ? lane + step : lane);
			if (there && own + step < valid) value = op(value, other);
		}
		return value;
	}
	T Sum(T value) { return Reduce(value, cub::Sum()); }
	T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
};

template <class T, int Lanes = 32> class WarpScan {
public:
	struct TempStorage {
		char none;
	};
	explicit WarpScan(TempStorage &) {}
	template <class Op> void InclusiveScan(T value, T &result, Op op) {
		const int lane = static_cast<int>(cuemu_cub_thread() % 32), own = lane % Lanes;
		const unsigned mask = cuemu_cub_lanes(Lanes);
		for (int step = 1; step < Lanes; step *= 2) {
			T other = cuemu_cub_lane(mask, value, own >= step ? lane - step : lane);
			if (own >= step) value = op(other, value);
		}
		result = value;
	}
	template <class Op> void InclusiveScan(T value, T &result, Op op, T &total) {
		InclusiveScan(value, result, op);
		const unsigned mask = cuemu_cub_lanes(Lanes);
		total = cuemu_cub_lane(mask, result, 31 - __clz(static_cast<int>(mask)));
	}
	// Without a first value, lane 0 gets its own.
	template <class Op> void ExclusiveScan(T value, T &result, Op op, T &total) {
		const int lane = static_cast<int>(cuemu_cub_thread() % 32), own = lane % Lanes;
		InclusiveScan(value, value, op, total);
		result = cuemu_cub_lane(cuemu_cub_lanes(Lanes), value, own > 0 ? lane - 1 : lane);
	}
	template <class Op> void ExclusiveScan(T value, T &result, Op op) {
		T total;
		ExclusiveScan(value, result, op, total);
	}
	template <class Op> void ExclusiveScan(T value, T &result, T first, Op op, T &total) {
		ExclusiveScan(value, result, op, total);
		result = cuemu_cub_thread() % Lanes > 0 ? op(first, result) : first;
	}
	template <class Op> void ExclusiveScan(T value, T &result, T first, Op op) {
		T total;
		ExclusiveScan(value, result, first, op, total);
	}
	void InclusiveSum(T value, T &result) { InclusiveScan(value, result, cub::Sum()); }
	void InclusiveSum(T value, T &result, T &total) { InclusiveScan(value, result, cub::Sum(), total); }
	void ExclusiveSum(T value, T &result) { ExclusiveScan(value, result, T(), cub::Sum()); }
	void ExclusiveSum(T value, T &result, T &total) { ExclusiveScan(value, result, T(), cub::Sum(), total); }
};

template <class T, int SizeX, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int SizeY = 1, int SizeZ = 1> class BlockReduce {
	typedef cuemu_cub_block<SizeX, SizeY, SizeZ> Block;

public:
	struct TempStorage {
		T warps[Block::Warps];
	};
	explicit BlockReduce(TempStorage &room, CUEMU_HERE) : room_(room), file_(file), line_(line) {}
	explicit BlockReduce(CUEMU_HERE) : room_(cuemu::cuemu_shared<TempStorage>(file, line)), file_(file), line_(line) {}
	template <class Op> __forceinline__ T Reduce(T value, Op op, int valid = Block::Threads) {
		Block::must_be("cub::BlockReduce", valid, file_, line_);
		const int rank = Block::rank(), warp = rank / 32;
		typename WarpReduce<T>::TempStorage none;
		const int rest = valid - 32 * warp;
		value = WarpReduce<T>(none).Reduce(value, op, rest < 32 ? rest : 32);
		if (cuemu_cub_thread() % 32 == 0) room_.warps[warp] = value;
		__syncthreads();
		if (rank == 0)
			for (int i = 1; i < Block::Warps && 32 * i < valid; i++) value = op(value, room_.warps[i]);
		return value;
	}
	__forceinline__ T Sum(T value) { return Reduce(value, cub::Sum()); }
	__forceinline__ T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
	template <int Items, class Op> __forceinline__ T Reduce(T (&values)[Items], Op op) {
		T all = values[0];
		for (int i = 1; i < Items; i++) all = op(all, values[i]);
		return Reduce(all, op);
	}
	template <int Items> __forceinline__ T Sum(T (&values)[Items]) { return Reduce(values, cub::Sum()); }

private:
	TempStorage &room_;
	const char *file_;
	int line_;
};

template <class T, int SizeX, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int SizeY = 1, int SizeZ = 1> class BlockScan {
	typedef cuemu_cub_block<SizeX, SizeY, SizeZ> Block;

public:
	struct TempStorage {
		T warps[Block::Warps];
	};
	explicit BlockScan(TempStorage &room, CUEMU_HERE) : room_(room), file_(file), line_(line) {}
	explicit BlockScan(CUEMU_HERE) : room_(cuemu::cuemu_shared<TempStorage>(file, line)), file_(file), line_(line) {}
	template <class Op> __forceinline__ void InclusiveScan(T value, T &result, Op op, T &total) {
		must_be(Block::Threads);
		inclusive(value, result, op, total);
	}
	template <class Op> __forceinline__ void InclusiveScan(T value, T &result, Op op) {
		T total;
		must_be(0);
		inclusive(value, result, op, total);
	}
	template <class Op> __forceinline__ void ExclusiveScan(T value, T &result, T first, Op op, T &total) {
		must_be(Block::Threads);
		exclusive(value, result, first, op, total);
	}
	template <class Op> __forceinline__ void ExclusiveScan(T value, T &result, T first, Op op) {
		T total;
		must_be(0);
		exclusive(value, result, first, op, total);
	}
	__forceinline__ void InclusiveSum(T value, T &result) { InclusiveScan(value, result, cub::Sum()); }
	__forceinline__ void InclusiveSum(T value, T &result, T &total) { InclusiveScan(value, result, cub::Sum(), total); }
	__forceinline__ void ExclusiveSum(T value, T &result) { ExclusiveScan(value, result, T(), cub::Sum()); }
	__forceinline__ void ExclusiveSum(T value, T &result, T &total) { ExclusiveScan(value, result, T(), cub::Sum(), total); }

private:
	// Only a total needs every rank: what is missing comes behind all others.
	void must_be(int valid) { Block::must_be("cub::BlockScan", valid, file_, line_); }
	static int warps() {
		const int there = static_cast<int>((blockDim.x * blockDim.y * blockDim.z + 31) / 32);
		return there < Block::Warps ? there : Block::Warps;
	}
	template <class Op> __forceinline__ void inclusive(T value, T &result, Op op, T &total) {
		const int warp = Block::rank() / 32, lane = static_cast<int>(cuemu_cub_thread() % 32);
		typename WarpScan<T>::TempStorage none;
		T own;
		WarpScan<T>(none).InclusiveScan(value, value, op, own);
		if (lane == 0) room_.warps[warp] = own;
		__syncthreads();
		total = room_.warps[0];
		T before = total;
		for (int i = 1; i < warps(); i++) {
			if (i == warp) before = total;
			total = op(total, room_.warps[i]);
		}
		result = warp > 0 ? op(before, value) : value;
	}
	template <class Op> __forceinline__ void exclusive(T value, T &result, T first, Op op, T &total) {
		const int rank = Block::rank(), warp = rank / 32, lane = static_cast<int>(cuemu_cub_thread() % 32);
		typename WarpScan<T>::TempStorage none;
		T own, before;
		WarpScan<T>(none).ExclusiveScan(value, before, op, own);
		if (lane == 0) room_.warps[warp] = own;
		__syncthreads();
		total = room_.warps[0];
		T parts = total;
		for (int i = 1; i < warps(); i++) {
			if (i == warp) parts = total;
			total = op(total, room_.warps[i]);
		}
		// The order counts: an operator need not commute.
		if (warp > 0) before = lane == 0 ? parts : op(parts, before);
		result = rank > 0 ? op(first, before) : first;
	}
	TempStorage &room_;
	const char *file_;
	int line_;
};

}  // namespace cub

#include "../cuemu/names_back.h"
#endif
