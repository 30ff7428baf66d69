// extent.cuh: the range of some numbers, for reductions.
#ifndef TRIAD_EXTENT_CUH
#define TRIAD_EXTENT_CUH
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

} // namespace triad
#endif
