// pack.cuh: 16-byte accesses. load reads N neighbouring elements into fp32, store rounds N values and writes them, to global memory alone.
// The address must be aligned to 16 bytes, or to the N elements where these are fewer bytes.
#ifndef TRIAD_PACK_CUH
#define TRIAD_PACK_CUH
#include <cuda_runtime.h>

#include <cstring>
#include <type_traits>

#include "element.cuh"
#include "hopper/finish.cuh"

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
	if constexpr (std::is_same_v<T, __nv_bfloat16> && N % 2 == 0) {
		// bfloat16 is the upper half of fp32: one instruction for each, where taking the element out first needs two.
		uint32_t words[N / 2];
		memcpy(words, &pack, sizeof words);
#pragma unroll
		for (int i = 0; i < N / 2; i++) {
			to[2 * i] = __uint_as_float(words[i] << 16);
			to[2 * i + 1] = __uint_as_float(words[i] & 0xffff0000u);
		}
	} else {
#pragma unroll
		for (int j = 0; j < N; j++) to[j] = to_float(pack.at[j]);
	}
}

// The same of 16 bytes that wait as four registers.
template <class T> __device__ inline void unpack(uint4 raw, float (&to)[vector<T>]) {
	Pack<T, vector<T>> pack;
	memcpy(&pack, &raw, sizeof pack);
	unpack(pack, to);
}

// unpack_here does so without leaving the compiler the idea to keep the values from one use to the next: that is twice the registers.
template <class T> __device__ inline void unpack_here(uint4 raw, float (&to)[vector<T>]) {
	hopper::refresh(raw);
	unpack<T>(raw, to);
}

template <int N, class T> __device__ inline void load(const T *from, float (&to)[N]) {
	constexpr int width = N < vector<T> ? N : vector<T>;
	static_assert(N % width == 0, "whole packs only");
#pragma unroll
	for (int i = 0; i < N; i += width) {
		float part[width];
		unpack(fetch<width>(from + i), part);
#pragma unroll
		for (int j = 0; j < width; j++) to[i + j] = part[j];
	}
}

// word is 32 bits of a pack as a number: one fp32 value, or two 16-bit values, the first in the low half.
template <int N> __device__ inline uint32_t word(const Pack<float, N> &pack, int i) { return __float_as_uint(pack.at[i]); }

template <int N, class T> __device__ inline uint32_t word(const Pack<T, N> &pack, int i) {
	uint16_t low, high;
	memcpy(&low, &pack.at[2 * i], sizeof low);
	memcpy(&high, &pack.at[2 * i + 1], sizeof high);
	return low | static_cast<uint32_t>(high) << 16;
}

// put writes a pack, one of 16 bytes as words: nvcc splits the copy of a structure into its elements and does not always join them again. A
// streaming store, of 16 bytes alone, says that nobody reads the value soon.
template <bool Stream = true, int N, class T> __device__ inline void put(T *to, const Pack<T, N> &pack) {
	if constexpr (sizeof pack == sizeof(uint4)) {
		const uint4 words = make_uint4(word(pack, 0), word(pack, 1), word(pack, 2), word(pack, 3));
		if constexpr (Stream)
			__stcs(reinterpret_cast<uint4 *>(to), words);
		else
			*reinterpret_cast<uint4 *>(to) = words;
	} else {
		*reinterpret_cast<Pack<T, N> *>(to) = pack;
	}
}

template <bool Stream = true, int N, class T> __device__ inline void store(T *to, const float (&from)[N]) {
	constexpr int width = N < vector<T> ? N : vector<T>;
	static_assert(N % width == 0, "whole packs only");
#pragma unroll
	for (int i = 0; i < N; i += width) {
		Pack<T, width> pack;
#pragma unroll
		for (int j = 0; j < width; j++) pack.at[j] = from_float<T>(from[i + j]);
		put<Stream>(to + i, pack);
	}
}

// Writes values side by side to shared memory, 16 bytes at a time; store is for global memory alone.
template <int V> __device__ inline void put_shared(float *to, const float (&from)[V]) {
	if constexpr (V % 4 != 0) {
#pragma unroll
		for (int j = 0; j < V; j++) to[j] = from[j];
	} else {
#pragma unroll
		for (int j = 0; j < V; j += 4) *reinterpret_cast<float4 *>(to + j) = make_float4(from[j], from[j + 1], from[j + 2], from[j + 3]);
	}
}

} // namespace triad
#endif
