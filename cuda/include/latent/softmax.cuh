// softmax.cuh: what a softmax over tokens does where no score is a number.
#ifndef TRIAD_LATENT_SOFTMAX_CUH
#define TRIAD_LATENT_SOFTMAX_CUH
#include <cuda_runtime.h>

#include <cmath>

namespace triad {
namespace latent {

constexpr float log2_e = 1.4426950408889634f;

// base is the maximum that is taken from scores: without one that is a number nothing is, so that -inf - -inf does not arise.
__device__ inline float base(float max) { return max == -INFINITY ? 0.0f : max; }

// log_of is lse of scores; NaN where each is -inf, as there is no mean of the values.
__device__ inline float log_of(float max, float total) { return max == -INFINITY ? NAN : max + logf(total); }

} // namespace latent
} // namespace triad
#endif
