// fp4.cuh: fp4 numbers (e2m1: a sign, two bits of exponent, one of fraction; eight to a word, the first in its lowest bits) as int8, by a
// table in two registers. Doubled they are whole: 0, 1, 2, 3, 4, 6, 8 and 12.
// Source   Rouhani et al. 2023, OCP Microscaling Formats
#ifndef TRIAD_FP4_CUH
#define TRIAD_FP4_CUH
#include "hopper/arithmetic.cuh"

namespace triad {

// Signed4 are four numbers, doubled to be whole, as the bytes of two words: the positive ones, and the magnitudes of the negative ones, each
// with 0 where a number has the other sign.
struct Signed4 {
	unsigned plus, minus;
};

// doubled_fp4 makes them of the codes in the low (half 0) or high 16 bits. permute looks up a byte for each of four codes: the lower three bits
// choose one of the table's eight magnitudes, and where the highest is set the chosen byte's own sign, which is 0, takes its place.
__device__ inline Signed4 doubled_fp4(unsigned codes, int half) {
	// 2 * 0, 0.5, 1, 1.5 and 2 * 2, 3, 4, 6. threadIdx.z is 0, and keeps the first in a register: a constant would be moved to one each time
	const unsigned low = 0x03020100 + threadIdx.z, high = 0x0c080604;
	const unsigned turned = codes ^ 0x88888888u;
	return {hopper::permute(low, high, codes >> 16 * half), hopper::permute(low, high, turned >> 16 * half)};
}

// as_int8 is the difference of both words, byte by byte: the highest bit of each byte keeps its borrow from the next.
__device__ inline int as_int8(Signed4 s) { return static_cast<int>(((s.plus | 0x80808080u) - s.minus) ^ 0x80808080u); }

} // namespace triad
#endif
