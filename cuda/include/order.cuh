// order.cuh: the order of elements as integers, and a sort of a block.
#ifndef TRIAD_ORDER_CUH
#define TRIAD_ORDER_CUH
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "element.cuh"

namespace triad {

// key_of maps an element to an unsigned number of as many bits that rises with the order of elements: -inf to inf, 0 and
// -0 are equal, and NaN comes above all. 0 is no element's.
template <class T> __device__ inline uint32_t key_of(T element) {
	constexpr uint32_t sign = uint32_t{1} << (8 * sizeof(T) - 1), all = sign | (sign - 1);
	uint32_t bits = 0;
	memcpy(&bits, &element, sizeof element);
	const float value = to_float(element);
	if (value != value) return all; // NaN
	if (value == 0) return sign;    // -0 too
	return bits & sign ? ~bits & all : bits | sign;
}

// keys_of makes the keys of two 16-bit elements in a word at once. They differ from key_of's where it matters not: 0 comes before -0.
template <class T> __device__ inline uint32_t keys_of(uint32_t two) {
	constexpr uint32_t infinity = std::is_same_v<T, __half> ? 0x7c00 : 0x7f80, ones = 0x00010001;
	const uint32_t negative = two >> 15 & ones;
	const uint32_t nan = ((two & 0x7fff * ones) + (0x7fff - infinity) * ones) >> 15 & ones; // the sum reaches the sign bit
	return (two ^ (negative * 0xffff | 0x8000 * ones)) | nan * 0xffff;
}

// Rank is an element's among others: the larger one is higher, and of equal ones the first. 0 is none's, and lies below all; so does no_rank above all.
using Rank = unsigned long long;
constexpr Rank no_rank = ~Rank{0};
template <class T> __device__ inline Rank rank_of(T element, int64_t place) {
	return static_cast<Rank>(key_of(element)) << 32 | (0xfffffffeu - static_cast<uint32_t>(place));
}
__device__ inline int32_t place_of(Rank rank) { return static_cast<int32_t>(0xfffffffeu - static_cast<uint32_t>(rank)); }

struct Higher {
	__device__ Rank operator()(Rank a, Rank b) const { return a > b ? a : b; }
};

// sort_falling sorts n values in shared memory, n a power of two, the larger first (Batcher 1968). All threads of the block take part.
template <int Threads, class V> __device__ inline void sort_falling(V *values, int n) {
	for (int size = 2; size <= n; size *= 2)
		for (int stride = size / 2; stride > 0; stride /= 2) {
			__syncthreads();
			for (int i = threadIdx.x; i < n / 2; i += Threads) {
				const int a = 2 * i - (i & (stride - 1)), b = a + stride;
				const bool falling = (a & size) == 0; // runs fall and rise by turns, so that two of them make the next
				const V first = values[a], second = values[b];
				if ((first < second) == falling) {
					values[a] = second;
					values[b] = first;
				}
			}
		}
	__syncthreads();
}

} // namespace triad
#endif
