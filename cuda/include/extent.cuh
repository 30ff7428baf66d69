// extent.cuh: the range of some numbers, for reductions.
#ifndef TRIAD_EXTENT_CUH
#define TRIAD_EXTENT_CUH
#include <cstring>
#include <type_traits>

#include "pack.cuh"
#include "reduce.cuh"

namespace triad {

// Extent is the range of some numbers, in fp32; NaN is left out. What begins with {0, 0} has 0 in it.
struct Extent {
	float low, high;
	__device__ void take(float v) { low = fminf(low, v), high = fmaxf(high, v); }
};

__device__ inline Extent shuffle_xor(Extent e, int lanes) { return {shuffle_xor(e.low, lanes), shuffle_xor(e.high, lanes)}; }

struct Join {
	__device__ Extent operator()(Extent a, Extent b) const { return {fminf(a.low, b.low), fmaxf(a.high, b.high)}; }
};

// PackExtent is the range of 0 and the elements of packs. Those of 16 bits are compared two at a time, as they are.
template <class T> class PackExtent {
	using Two = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
	static constexpr bool in_pairs = sizeof(T) == 2;
	std::conditional_t<in_pairs, Two, float> low, high;

public:
	__device__ PackExtent() { memset(&low, 0, sizeof low), memset(&high, 0, sizeof high); }

	template <int N> __device__ void take(const Pack<T, N> &pack) {
		if constexpr (in_pairs) {
#pragma unroll
			for (int i = 0; i < N / 2; i++) {
				const uint32_t bits = word(pack, i);
				Two two;
				memcpy(&two, &bits, sizeof two);
				low = __hmin2(low, two), high = __hmax2(high, two);
			}
		} else {
#pragma unroll
			for (int j = 0; j < N; j++) low = fminf(low, pack.at[j]), high = fmaxf(high, pack.at[j]);
		}
	}

	__device__ Extent all() const {
		if constexpr (in_pairs)
			return {fminf(to_float(low.x), to_float(low.y)), fmaxf(to_float(high.x), to_float(high.y))};
		else return {low, high};
	}
};

} // namespace triad
#endif
