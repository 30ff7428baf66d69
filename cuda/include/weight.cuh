// weight.cuh: the arithmetic of one weight of attention, and of the statistics of its row, that every variant agrees on.
#ifndef TRIAD_WEIGHT_CUH
#define TRIAD_WEIGHT_CUH
#include <cuda_runtime.h>

#include <cmath>

namespace triad {

// finite_max: what is subtracted from scores before the exponential. Subtracting an infinite maximum would give NaN where -inf scores
// must weigh nothing; with 0 instead, exp gives 0 for them, and infinity, then NaN by the division, where the maximum is +inf.
__device__ inline float finite_max(float max) { return fabsf(max) <= 3.4028235e38f ? max : 0.0f; }

// log_sum_exp is lse of a query, from its largest score and the sum of exp(score - finite_max). Where a score is infinite there are no
// weights (infinity minus infinity), so o is NaN and lse with it; a query that sees no key has lse = -inf.
__device__ inline float log_sum_exp(float max, float total, bool sees_a_key) {
	if (sees_a_key && fabsf(max) > 3.4028235e38f) return NAN;
	return finite_max(max) + logf(total);
}

// Weight is one element of P = exp(s - lse) and of dS = P * (dP - delta), the gradient of the scaled score.
struct Weight {
	float p, ds;
};

// A query that no key contributed to (lse = -inf) has no weights, whatever its scores.
__device__ inline Weight weight_of(float score, float lse, float dp, float delta) {
	if (lse == -INFINITY) return {0, 0};
	const float p = expf(score - lse);
	return {p, p * (dp - delta)};
}

} // namespace triad
#endif
