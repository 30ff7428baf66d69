// Stands in for CUDA's header of this name: thread blocks, tiles, coalesced groups, clusters, the grid,
// which has a barrier in a cooperative launch. Member functions take the caller's file and line for reports.
#ifndef CUEMU_COOPERATIVE_GROUPS_H
#define CUEMU_COOPERATIVE_GROUPS_H

#include "cuemu/names_aside.h"

#include "cuda_runtime.h"

namespace cooperative_groups {

inline unsigned cuemu_linear_thread() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
inline unsigned cuemu_block_threads() { return blockDim.x * blockDim.y * blockDim.z; }

class thread_block {
public:
	static void sync(CUEMU_HERE) { __syncthreads(file, line); }
	static unsigned thread_rank() { return cuemu_linear_thread(); }
	static unsigned size() { return cuemu_block_threads(); }
	static unsigned num_threads() { return cuemu_block_threads(); }
	static dim3 group_index() { return blockIdx; }
	static dim3 thread_index() { return threadIdx; }
	static dim3 group_dim() { return blockDim; }
	static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

// Memory that tiles of several warps take on GPUs before sm_80. Here they have their own.
template <unsigned MostThreads = 1024> struct block_tile_memory {
	alignas(16) char bytes[16];
};
template <unsigned MostThreads> inline thread_block this_thread_block(block_tile_memory<MostThreads> &) { return {}; }

// The cluster of a block: without one in the launch, the block alone.
class cluster_group {
public:
	static void sync(CUEMU_HERE) {
		cuemu_cluster_arrive(file, line);
		cuemu_cluster_wait(file, line);
	}
	static void barrier_arrive(CUEMU_HERE) { cuemu_cluster_arrive(file, line); }
	static void barrier_wait(CUEMU_HERE) { cuemu_cluster_wait(file, line); }
	static unsigned num_blocks() { return cuemu_cluster_size(); }
	static unsigned block_rank() { return cuemu_cluster_rank(); }
	static unsigned num_threads() { return num_blocks() * cuemu_block_threads(); }
	static unsigned size() { return num_threads(); }
	static unsigned thread_rank() { return block_rank() * cuemu_block_threads() + cuemu_linear_thread(); }
	template <class T> static T *map_shared_rank(T *own, unsigned rank, CUEMU_HERE) {
		return static_cast<T *>(cuemu_peer_shared(const_cast<const std::remove_cv_t<T> *>(own), rank, file, line));
	}
};
inline cluster_group this_cluster() { return {}; }

class grid_group {
public:
	static bool is_valid() { return cuemu_cooperative() != 0; }
	static void sync(CUEMU_HERE) { cuemu_grid_sync(file, line); }
	static dim3 dim_blocks() { return gridDim; }
	static dim3 block_index() { return blockIdx; }
	static unsigned long long num_blocks() { return 1ull * gridDim.x * gridDim.y * gridDim.z; }
	static unsigned long long block_rank() { return blockIdx.x + 1ull * gridDim.x * (blockIdx.y + 1ull * gridDim.y * blockIdx.z); }
	static unsigned long long thread_rank() { return block_rank() * cuemu_block_threads() + cuemu_linear_thread(); }
	static unsigned long long size() { return num_blocks() * cuemu_block_threads(); }
	static unsigned long long num_threads() { return size(); }
	static dim3 group_dim() { return gridDim; }
};
inline grid_group this_grid() { return {}; }

template <unsigned N, class Parent = void> class thread_block_tile;

// A group of lanes of one warp, given by a mask. Rank r is the r-th set bit.
class coalesced_group {
public:
	explicit coalesced_group(unsigned mask) : mask_(mask) {}
	void sync(CUEMU_HERE) const { __syncwarp(mask_, file, line); }
	unsigned size() const { return static_cast<unsigned>(__popc(mask_)); }
	unsigned num_threads() const { return size(); }
	unsigned thread_rank() const { return static_cast<unsigned>(__popc(mask_ & ((1u << cuemu_lane()) - 1))); }
	unsigned long long meta_group_size() const { return 1; }
	unsigned long long meta_group_rank() const { return 0; }
	template <class T> T shfl(T value, unsigned rank, CUEMU_HERE) const { return __shfl_sync(mask_, value, static_cast<int>(cuemu_lane_of(rank)), 32, file, line); }
	template <class T> T shfl_up(T value, unsigned delta, CUEMU_HERE) const {
		unsigned rank = thread_rank();
		return shfl(value, rank >= delta ? rank - delta : rank, file, line);
	}
	template <class T> T shfl_down(T value, unsigned delta, CUEMU_HERE) const {
		unsigned rank = thread_rank();
		return shfl(value, rank + delta < size() ? rank + delta : rank, file, line);
	}
	int any(int predicate, CUEMU_HERE) const { return __any_sync(mask_, predicate, file, line); }
	int all(int predicate, CUEMU_HERE) const { return __all_sync(mask_, predicate, file, line); }
	unsigned ballot(int predicate, CUEMU_HERE) const { return to_ranks(__ballot_sync(mask_, predicate, file, line)); }
	template <class T> unsigned match_any(T value, CUEMU_HERE) const { return to_ranks(__match_any_sync(mask_, value, file, line)); }

	unsigned cuemu_lane_of(unsigned rank) const {
		unsigned rest = mask_;
		while (rank-- && rest) rest &= rest - 1;
		return rest ? static_cast<unsigned>(__ffs(static_cast<int>(rest))) - 1 : cuemu_lane();
	}

protected:
	unsigned mask_;
	unsigned to_ranks(unsigned lanes) const {
		unsigned ranks = 0, rank = 0;
		for (unsigned rest = mask_; rest; rest &= rest - 1, rank++) ranks |= ((lanes & rest & -rest) != 0 ? 1u : 0u) << rank;
		return ranks;
	}
};
// The group of those lanes of a group that have the same value.
template <class Group, class Label> inline coalesced_group labeled_partition(const Group &group, Label label, CUEMU_HERE) {
	unsigned ranks = group.match_any(label, file, line), lanes = 0;
	for (unsigned rank = 0; rank < group.size(); rank++)
		if (ranks >> rank & 1) lanes |= 1u << group.cuemu_lane_of(rank);
	return coalesced_group(lanes);
}
template <class Group> inline coalesced_group binary_partition(const Group &group, bool label, CUEMU_HERE) {
	return labeled_partition(group, static_cast<int>(label), file, line);
}
inline coalesced_group coalesced_threads(CUEMU_HERE) { return coalesced_group(__activemask(file, line)); }

// How often threads of a tile fit into what it is a part of: the block, or a larger tile.
template <unsigned N, class Parent> struct cuemu_tiles_of {
	static unsigned rank() { return cuemu_linear_thread() / N; }
	static unsigned size() { return (cuemu_block_threads() + N - 1) / N; }
};
template <unsigned N, unsigned M, class Above> struct cuemu_tiles_of<N, thread_block_tile<M, Above>> {
	static unsigned rank() { return cuemu_linear_thread() % M / N; }
	static unsigned size() { return M / N; }
};

// What a tile of a warp's lanes can do.
template <unsigned N> class cuemu_tile_of_lanes {
public:
	static void sync(CUEMU_HERE) { __syncwarp(mask(), file, line); }
	template <class T> T shfl(T value, int rank, CUEMU_HERE) const { return __shfl_sync(mask(), value, rank, N, file, line); }
	template <class T> T shfl_up(T value, unsigned delta, CUEMU_HERE) const { return __shfl_up_sync(mask(), value, delta, N, file, line); }
	template <class T> T shfl_down(T value, unsigned delta, CUEMU_HERE) const { return __shfl_down_sync(mask(), value, delta, N, file, line); }
	template <class T> T shfl_xor(T value, unsigned lanes, CUEMU_HERE) const {
		return __shfl_xor_sync(mask(), value, static_cast<int>(lanes), N, file, line);
	}
	int any(int predicate, CUEMU_HERE) const { return __any_sync(mask(), predicate, file, line); }
	int all(int predicate, CUEMU_HERE) const { return __all_sync(mask(), predicate, file, line); }
	unsigned ballot(int predicate, CUEMU_HERE) const { return __ballot_sync(mask(), predicate, file, line) >> first(); }
	template <class T> unsigned match_any(T value, CUEMU_HERE) const { return __match_any_sync(mask(), value, file, line) >> first(); }
	template <class T> unsigned match_all(T value, int &equal, CUEMU_HERE) const {
		return __match_all_sync(mask(), value, &equal, file, line) >> first();
	}
	static unsigned cuemu_lane_of(unsigned rank) { return first() + rank; }

private:
	static unsigned first() { return cuemu_lane() & ~(N - 1); }
	static unsigned mask() { return (N == 32 ? 0xffffffffu : (1u << (N % 32)) - 1) << first(); }
};

// What a tile of several warps can do. Its threads meet at a barrier, and each warp has a place for one value that all of them read.
template <unsigned N> class cuemu_tile_of_warps {
public:
	static void sync(CUEMU_HERE) { cuemu_tile_barrier(N, file, line); }
	template <class T> T shfl(T value, unsigned rank, CUEMU_HERE) const {
		if (cuemu_linear_thread() % N == rank) cuemu_tile_put(&value, sizeof value);
		sync(file, line);
		cuemu_tile_get(first_warp() + rank / 32, &value, sizeof value);
		sync(file, line);
		return value;
	}
	int any(int predicate, CUEMU_HERE) const {
		return cuemu_together(__any_sync(0xffffffffu, predicate, file, line), [](int a, int b) { return a | b; }, file, line);
	}
	int all(int predicate, CUEMU_HERE) const {
		return cuemu_together(__all_sync(0xffffffffu, predicate, file, line), [](int a, int b) { return a & b; }, file, line);
	}
	// The values of the warps, which all their lanes have, from the first warp on.
	template <class T, class Op> T cuemu_together(T value, Op op, CUEMU_HERE) const {
		if (cuemu_linear_thread() % 32 == 0) cuemu_tile_put(&value, sizeof value);
		sync(file, line);
		cuemu_tile_get(first_warp(), &value, sizeof value);
		for (unsigned warp = 1; warp < N / 32 && 32 * (first_warp() + warp) < cuemu_block_threads(); warp++) {
			T other;
			cuemu_tile_get(first_warp() + warp, &other, sizeof other);
			value = op(value, other);
		}
		sync(file, line);
		return value;
	}

private:
	static unsigned first_warp() { return cuemu_linear_thread() / N * (N / 32); }
};

// A tile: N neighbouring threads, N a power of two. One of no particular parent knows where it lies in the one that it is made from.
template <unsigned N, class Parent> class thread_block_tile : public std::conditional_t<(N <= 32), cuemu_tile_of_lanes<N>, cuemu_tile_of_warps<N>> {
	static_assert(N >= 1 && N <= 1024 && (N & (N - 1)) == 0, "a tile has a power of two of threads, at most 1024");

public:
	thread_block_tile() : rank_(cuemu_tiles_of<N, Parent>::rank()), size_(cuemu_tiles_of<N, Parent>::size()) {}
	template <class Other> thread_block_tile(const thread_block_tile<N, Other> &tile) : rank_(tile.meta_group_rank()), size_(tile.meta_group_size()) {}
	static constexpr unsigned size() { return N; }
	static constexpr unsigned num_threads() { return N; }
	static unsigned thread_rank() { return cuemu_linear_thread() % N; }
	unsigned meta_group_rank() const { return rank_; }
	unsigned meta_group_size() const { return size_; }

private:
	unsigned rank_, size_;
};
template <unsigned N, class Parent> inline thread_block_tile<N, Parent> tiled_partition(const Parent &) { return {}; }
// A thread as a group of its own, one of one.
inline thread_block_tile<1> this_thread() { return thread_block_tile<1, thread_block_tile<1, thread_block>>(); }

// A group of which only the size is known when the kernel runs: a block, or a tile of it.
class thread_group {
public:
	thread_group(const thread_block &) : threads_(cuemu_block_threads()), block_(true) {}
	template <unsigned N, class Parent> thread_group(const thread_block_tile<N, Parent> &) : threads_(N), block_(false) {}
	explicit thread_group(unsigned threads) : threads_(threads), block_(false) {}
	void sync(CUEMU_HERE) const {
		if (block_) {
			__syncthreads(file, line);
		} else if (threads_ > 32) {
			cuemu_tile_barrier(threads_, file, line);
		} else {
			__syncwarp((threads_ == 32 ? 0xffffffffu : (1u << (threads_ % 32)) - 1) << (cuemu_lane() & ~(threads_ - 1)), file, line);
		}
	}
	unsigned size() const { return threads_; }
	unsigned num_threads() const { return threads_; }
	unsigned thread_rank() const { return cuemu_linear_thread() % threads_; }

private:
	unsigned threads_;
	bool block_;
};
inline thread_group tiled_partition(const thread_block &, unsigned threads) { return thread_group(threads); }
inline thread_group tiled_partition(const thread_group &, unsigned threads) { return thread_group(threads); }

template <class Group> inline void sync(const Group &group, CUEMU_HERE) { group.sync(file, line); }

// invoke_one has the first thread of a group call a function.
template <class Group, class F, class... Args> inline void invoke_one(const Group &group, F &&f, Args &&...args) {
	if (group.thread_rank() == 0) f(std::forward<Args>(args)...);
}

// ---- reductions (cooperative_groups/reduce.h)
template <class T> struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
template <class T> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T> struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };

template <unsigned N, class Parent, class T, class Op>
inline T reduce(const thread_block_tile<N, Parent> &tile, T value, Op op, CUEMU_HERE) {
	if constexpr (N > 32) {
		const thread_block_tile<32> warp = tiled_partition<32>(tile);
		return tile.cuemu_together(reduce(warp, value, op, file, line), op, file, line);
	} else {
		for (unsigned lanes = N / 2; lanes > 0; lanes /= 2) value = op(value, tile.shfl_xor(value, lanes, file, line));
		return value;
	}
}
// Any number of lanes: the ranks in order.
template <class T, class Op> inline T reduce(const coalesced_group &group, T value, Op op, CUEMU_HERE) {
	T total = group.shfl(value, 0, file, line);
	for (unsigned rank = 1; rank < group.size(); rank++) total = op(total, group.shfl(value, rank, file, line));
	return total;
}

}  // namespace cooperative_groups

#include "cuemu/names_back.h"

#endif
