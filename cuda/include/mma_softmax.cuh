// mma_softmax.cuh: the softmax that runs along with the tiles of keys, in the registers that hold results of tensor cores. Exponentials to the base 2,
// with the scale folded into one multiply-add; the largest weight of a row is exactly 1 however large its score. scale > 0, so that the largest
// product is the largest score.
#ifndef TRIAD_MMA_SOFTMAX_CUH
#define TRIAD_MMA_SOFTMAX_CUH
#include "hopper/arithmetic.cuh"
#include "reduce.cuh"
#include "weight.cuh"

namespace triad {
namespace mma {

// Softmax is the running state of the rows of one fragment: rows g and g + 8, of which a lane holds a quarter of each sum.
struct Softmax {
	float max[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
};

// Above this size of an exponent, one multiply-add no longer gives the distance to the largest score.
constexpr float large_exponent = 1048576.0f;

// hide_keys makes the scores of keys j >= visible[half] -inf; `first` is the key of column 0.
template <int Eights> __device__ inline void hide_keys(float (&s)[Eights][4], int first, const int (&visible)[2]) {
	const int column = first + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
	for (int n = 0; n < Eights; n++)
#pragma unroll
		for (int e = 0; e < 4; e++)
			if (column + 8 * n + e % 2 >= visible[e / 2]) s[n][e] = -INFINITY;
}

// Exponents say how scores become weights, 2^(factor * score - base[half]), and by what to multiply that which was summed before.
struct Exponents {
	float factor, base[2], decay[2];
};

// exponents_for takes in the largest score of a tile. factor * score is the score to the base 2.
template <int Eights> __device__ inline Exponents exponents_for(Softmax &state, float (&s)[Eights][4], float factor) {
	Exponents e = {factor, {}, {}};
	bool large = false;
#pragma unroll
	for (int half = 0; half < 2; half++) {
		float top = state.max[half];
#pragma unroll
		for (int n = 0; n < Eights; n++) top = fmaxf(top, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
		top = warp_reduce<4>(top, Max());
		const float before = state.max[half] == -INFINITY ? -INFINITY : finite_max(state.max[half]) * factor;
		e.base[half] = finite_max(top) * factor;
		e.decay[half] = hopper::power_of_two(before - e.base[half]);
		state.max[half] = top;
		large = large || fabsf(e.base[half]) > large_exponent;
	}
	if (__any_sync(all_lanes, large)) { // rounded products, so that equal scores are at distance 0
#pragma unroll
		for (int n = 0; n < Eights; n++)
#pragma unroll
			for (int i = 0; i < 4; i++) s[n][i] = __fadd_rn(__fmul_rn(s[n][i], factor), -e.base[i / 2]);
		e.factor = 1;
		e.base[0] = e.base[1] = 0;
	}
	return e;
}

// rescale: most tiles hold no new largest score, and then there is nothing to do.
template <int Eights> __device__ inline void rescale(Softmax &state, float (&o)[Eights][4], const Exponents &e) {
	if (!__any_sync(all_lanes, !(e.decay[0] == 1 && e.decay[1] == 1))) return;
#pragma unroll
	for (int half = 0; half < 2; half++) state.sum[half] *= e.decay[half];
#pragma unroll
	for (int n = 0; n < Eights; n++)
#pragma unroll
		for (int i = 0; i < 4; i++) o[n][i] *= e.decay[i / 2];
}

// weigh_scores turns scores into weights and adds them to sum.
template <int Eights> __device__ inline void weigh_scores(float (&sum)[2], float (&s)[Eights][4], const Exponents &e) {
#pragma unroll
	for (int n = 0; n < Eights; n++)
#pragma unroll
		for (int i = 0; i < 4; i++) s[n][i] = hopper::power_of_two(fmaf(s[n][i], e.factor, -e.base[i / 2]));
#pragma unroll
	for (int half = 0; half < 2; half++) {
		float part = 0;
#pragma unroll
		for (int n = 0; n < Eights; n++) part += s[n][2 * half] + s[n][2 * half + 1];
		sum[half] += part;
	}
}

} // namespace mma
} // namespace triad
#endif
