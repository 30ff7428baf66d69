// sums.cuh: what elements are added up in: fp32, or for int32 numbers of 32 bits that wrap. Elements are read and written 16 bytes at a time
// as pack.cuh does it.
#ifndef TRIAD_SUMS_CUH
#define TRIAD_SUMS_CUH
#include "pack.cuh"

namespace triad {

// SumType is what elements of T are added up in. Unsigned numbers wrap, signed ones may not.
template <class T> struct SumOf {
	using Type = float;
};
template <> struct SumOf<int32_t> {
	using Type = uint32_t;
};
template <class T> using SumType = typename SumOf<T>::Type;

template <class T> __device__ inline float to_sum(T v) { return to_float(v); }
__device__ inline uint32_t to_sum(int32_t v) { return static_cast<uint32_t>(v); }
template <class T> __device__ inline T from_sum(float v) { return from_float<T>(v); }
template <class T> __device__ inline T from_sum(uint32_t v) { return static_cast<T>(v); }

// sums_of makes of a pack what is added up.
template <class T, int V> __device__ inline void sums_of(const Pack<T, V> &pack, float (&to)[V]) { unpack(pack, to); }
template <int V> __device__ inline void sums_of(const Pack<int32_t, V> &pack, uint32_t (&to)[V]) {
#pragma unroll
	for (int j = 0; j < V; j++) to[j] = to_sum(pack.at[j]);
}

template <int V, class T> __device__ inline void store_sums(T *to, const float (&from)[V]) { store(to, from); }
template <int N> __device__ inline uint32_t word(const Pack<int32_t, N> &pack, int i) { return static_cast<uint32_t>(pack.at[i]); }

template <int V> __device__ inline void store_sums(int32_t *to, const uint32_t (&from)[V]) {
	Pack<int32_t, V> pack;
#pragma unroll
	for (int j = 0; j < V; j++) pack.at[j] = from_sum<int32_t>(from[j]);
	put(to, pack);
}

} // namespace triad
#endif
