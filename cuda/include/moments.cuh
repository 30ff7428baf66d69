// moments.cuh: mean and variance of a row in fp32, by a corrected second pass or by Welford's updates.
#ifndef TRIAD_MOMENTS_CUH
#define TRIAD_MOMENTS_CUH
#include "reduce.cuh"

namespace triad {

struct Statistics {
	float mean, rstd;
};

__device__ inline bool is_finite(float v) { return v - v == 0.0f; }

// From a first mean and the sums of (x - mean) and (x - mean)^2. A mean that is not finite is left as it is: its differences are NaN.
__device__ inline Statistics corrected(float mean, Two sums, float cols, float eps) {
	const float error = sums.first / cols;
	const float variance = sums.second / cols - error * error;
	const float above = variance < 0.0f ? 0.0f : variance; // NaN stays
	return {is_finite(mean) ? mean + error : mean, 1.0f / sqrtf(above + eps)};
}

// Mean (as the sum of two floats), sum of squared differences from it, and how many values these stand for. Welford's update multiplies
// with the difference from a running mean, so that mean's rounding enters the squares at first order: with one float, rows of mean 200 and
// deviation 1 come out ten times less exact than by two passes.
struct Welford {
	float mean, rest, squares, count;
};

__device__ inline Welford shuffle_xor(Welford v, int lane_mask) {
	return {shuffle_xor(v.mean, lane_mask), shuffle_xor(v.rest, lane_mask), shuffle_xor(v.squares, lane_mask),
	        shuffle_xor(v.count, lane_mask)};
}

// Adds `step` to the mean, keeping what the addition rounds off (Knuth's two-sum).
__device__ inline void move_mean(Welford &w, float step) {
	const float moved = w.rest + step, sum = w.mean + moved, part = sum - w.mean;
	w.rest = (w.mean - (sum - part)) + (moved - part);
	w.mean = sum;
}

__device__ inline void welford_add(Welford &w, float x) {
	w.count += 1.0f;
	const float before = (x - w.mean) - w.rest;
	move_mean(w, before / w.count);
	w.squares += before * ((x - w.mean) - w.rest);
}

// Chan's formula for two parts of a row.
struct WelfordMerge {
	__device__ Welford operator()(Welford a, Welford b) const {
		if (b.count == 0.0f) return a;
		if (a.count == 0.0f) return b;
		const float count = a.count + b.count, apart = (b.mean - a.mean) + (b.rest - a.rest), share = b.count / count;
		Welford all = {a.mean, a.rest, a.squares + b.squares + apart * apart * a.count * share, count};
		move_mean(all, apart * share);
		return all;
	}
};

} // namespace triad
#endif
