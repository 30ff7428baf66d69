// order.cuh: the order of elements as integers, and a sort of a block.
#ifndef TRIAD_ORDER_CUH
#define TRIAD_ORDER_CUH
#include <cstdint>
#include <cstring>

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
