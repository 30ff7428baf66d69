// pack.cuh: 16-byte accesses. load reads N neighbouring elements into fp32, store rounds N values and writes them.
// The address must be aligned to 16 bytes, or to the N elements where these are fewer bytes.
#ifndef TRIAD_PACK_CUH
#define TRIAD_PACK_CUH
#include "element.cuh"

namespace triad {

// vector<T> is the number of elements of T in 16 bytes, the widest access of one thread.
template <class T> constexpr int vector = 16 / static_cast<int>(sizeof(T));

// Pack is a run of elements that the compiler moves with one instruction, because of its alignment.
template <class T, int N> struct alignas(sizeof(T) * N) Pack {
	T at[N];
};

// fetch reads a pack as it is, unpack makes fp32 of it: 16-bit values that wait for their use take half the registers.
template <int N, class T> __device__ inline Pack<T, N> fetch(const T *from) {
	static_assert(N <= vector<T>, "at most 16 bytes");
	return *reinterpret_cast<const Pack<T, N> *>(from);
}

template <int N, class T> __device__ inline void unpack(const Pack<T, N> &pack, float (&to)[N]) {
#pragma unroll
	for (int j = 0; j < N; j++) to[j] = to_float(pack.at[j]);
}

template <int N, class T> __device__ inline void load(const T *from, float (&to)[N]) {
	constexpr int width = N < vector<T> ? N : vector<T>;
	static_assert(N % width == 0, "whole packs only");
#pragma unroll
	for (int i = 0; i < N; i += width) {
		const Pack<T, width> pack = fetch<width>(from + i);
#pragma unroll
		for (int j = 0; j < width; j++) to[i + j] = to_float(pack.at[j]);
	}
}

template <int N, class T> __device__ inline void store(T *to, const float (&from)[N]) {
	constexpr int width = N < vector<T> ? N : vector<T>;
	static_assert(N % width == 0, "whole packs only");
#pragma unroll
	for (int i = 0; i < N; i += width) {
		Pack<T, width> pack;
#pragma unroll
		for (int j = 0; j < width; j++) pack.at[j] = from_float<T>(from[i + j]);
		*reinterpret_cast<Pack<T, width> *>(to + i) = pack;
	}
}

} // namespace triad
#endif
