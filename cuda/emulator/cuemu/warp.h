// Warp functions. Each lane hands in its value and waits; the last lane of the mask to arrive computes everybody's result. So any mask, disjoint
// parts of a warp, partial last warps and lanes that have left the kernel work as on a device. A value read from a lane that does not take
// part is undefined in CUDA; here it is all ones (NaN, -1), so that its use shows.
#ifndef CUEMU_WARP_H
#define CUEMU_WARP_H

#include <cstring>

#include "cuemu/execution.h"

namespace cuemu {

enum Collective {
	SHFL_IDX, SHFL_UP, SHFL_DOWN, SHFL_XOR, VOTE_BALLOT, MATCH_ANY, MATCH_ALL, REDUCE_ADD, REDUCE_MIN_S, REDUCE_MAX_S, REDUCE_MIN_U,
	REDUCE_MAX_U, REDUCE_AND, REDUCE_OR, REDUCE_XOR, SYNCWARP, ACTIVEMASK, WARP_CALL
};

// WarpCall is what a lane hands in where all lanes work on one thing, such as a matrix: the last lane to arrive calls `run` with what every lane
// has (null for a lane that has left the kernel), and `run` leaves each lane its results there.
struct WarpCall {
	void (*run)(void *const *lanes);
	void *lane;
};

inline void warp_call(void (*run)(void *const *lanes), void *lane, const char *file, int line) {
	WarpCall call = {run, lane};
	cuemu_collective(WARP_CALL, 0xffffffffu, reinterpret_cast<uintptr_t>(&call), 0, file, line);
}

template <class T> inline uint64_t to_bits(T value) {
	static_assert(sizeof(T) <= 8 && std::is_trivially_copyable<T>::value, "a warp function moves at most 8 bytes");
	uint64_t bits = 0;
	__builtin_memcpy(&bits, &value, sizeof(T));
	return bits;
}

template <class T> inline T from_bits(uint64_t bits) {
	typename std::remove_const<T>::type value;
	__builtin_memcpy(static_cast<void *>(&value), &bits, sizeof(T));
	return value;
}

// lane_of_thread is this thread's lane in its warp.
CUEMU_PLAIN inline uint32_t lane_of_thread() {
	return blockDim.y == 1 && blockDim.z == 1 ? threadIdx.x % 32 : cuemu_lane();
}

// The source lane of a shuffle; a lane whose source lies outside its segment of `width` lanes keeps its own value.
inline uint32_t source_idx(unsigned lane, int source, int width) { return (lane & ~(width - 1u)) | (source & (width - 1u)); }
inline uint32_t source_up(unsigned lane, unsigned delta, int width) { return (lane & (width - 1u)) >= delta ? lane - delta : lane; }
inline uint32_t source_down(unsigned lane, unsigned delta, int width) {
	return delta < static_cast<unsigned>(width) && (lane & (width - 1u)) + delta < static_cast<unsigned>(width) ? lane + delta : lane;
}
inline uint32_t source_xor(unsigned lane, int mask, int width) {
	unsigned source = lane ^ static_cast<unsigned>(mask);
	return source < 32 && source / width <= lane / width ? source : lane;
}

}  // namespace cuemu

template <class T> inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, CUEMU_HERE) {
	return cuemu::from_bits<T>(cuemu_collective(cuemu::SHFL_IDX, mask, cuemu::to_bits(value),
	                                            cuemu::source_idx(cuemu::lane_of_thread(), source, width), file, line));
}
template <class T> inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, CUEMU_HERE) {
	return cuemu::from_bits<T>(cuemu_collective(cuemu::SHFL_UP, mask, cuemu::to_bits(value),
	                                            cuemu::source_up(cuemu::lane_of_thread(), delta, width), file, line));
}
template <class T> inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, CUEMU_HERE) {
	return cuemu::from_bits<T>(cuemu_collective(cuemu::SHFL_DOWN, mask, cuemu::to_bits(value),
	                                            cuemu::source_down(cuemu::lane_of_thread(), delta, width), file, line));
}
template <class T> inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32, CUEMU_HERE) {
	return cuemu::from_bits<T>(cuemu_collective(cuemu::SHFL_XOR, mask, cuemu::to_bits(value),
	                                            cuemu::source_xor(cuemu::lane_of_thread(), lane_mask, width), file, line));
}

inline unsigned __ballot_sync(unsigned mask, int predicate, CUEMU_HERE) {
	return static_cast<unsigned>(cuemu_collective(cuemu::VOTE_BALLOT, mask, predicate != 0, 0, file, line));
}
inline int __any_sync(unsigned mask, int predicate, CUEMU_HERE) {
	return static_cast<uint32_t>(cuemu_collective(cuemu::VOTE_BALLOT, mask, predicate != 0, 0, file, line)) != 0;
}
// __all_sync: no lane of the mask votes against.
inline int __all_sync(unsigned mask, int predicate, CUEMU_HERE) {
	return static_cast<uint32_t>(cuemu_collective(cuemu::VOTE_BALLOT, mask, predicate == 0, 0, file, line)) == 0;
}
inline int __uni_sync(unsigned mask, int predicate, CUEMU_HERE) {
	uint64_t set_and_members = cuemu_collective(cuemu::VOTE_BALLOT, mask, predicate != 0, 0, file, line);
	uint32_t set = static_cast<uint32_t>(set_and_members), members = static_cast<uint32_t>(set_and_members >> 32);
	return set == 0 || set == members;
}

template <class T> inline unsigned __match_any_sync(unsigned mask, T value, CUEMU_HERE) {
	return static_cast<unsigned>(cuemu_collective(cuemu::MATCH_ANY, mask, cuemu::to_bits(value), 0, file, line));
}
template <class T> inline unsigned __match_all_sync(unsigned mask, T value, int *equal, CUEMU_HERE) {
	unsigned members = static_cast<unsigned>(cuemu_collective(cuemu::MATCH_ALL, mask, cuemu::to_bits(value), 0, file, line));
	*equal = members != 0;
	return members;
}

#define CUEMU_REDUCE(name, type, kind)                                                                              \
	inline type name(unsigned mask, type value, CUEMU_HERE) {                                                          \
		return static_cast<type>(cuemu_collective(cuemu::kind, mask, static_cast<uint32_t>(value), 0, file, line));       \
	}
CUEMU_REDUCE(__reduce_add_sync, int, REDUCE_ADD)
CUEMU_REDUCE(__reduce_add_sync, unsigned, REDUCE_ADD)
CUEMU_REDUCE(__reduce_min_sync, int, REDUCE_MIN_S)
CUEMU_REDUCE(__reduce_min_sync, unsigned, REDUCE_MIN_U)
CUEMU_REDUCE(__reduce_max_sync, int, REDUCE_MAX_S)
CUEMU_REDUCE(__reduce_max_sync, unsigned, REDUCE_MAX_U)
CUEMU_REDUCE(__reduce_and_sync, unsigned, REDUCE_AND)
CUEMU_REDUCE(__reduce_or_sync, unsigned, REDUCE_OR)
CUEMU_REDUCE(__reduce_xor_sync, unsigned, REDUCE_XOR)
#undef CUEMU_REDUCE

inline void __syncwarp(unsigned mask = 0xffffffffu, CUEMU_HERE) { cuemu_collective(cuemu::SYNCWARP, mask, 0, 0, file, line); }
inline unsigned __activemask(CUEMU_HERE) {
	return static_cast<unsigned>(cuemu_collective(cuemu::ACTIVEMASK, 0xffffffffu, 0, 0, file, line));
}

#endif
