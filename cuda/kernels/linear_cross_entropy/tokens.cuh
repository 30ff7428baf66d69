// tokens.cuh: what linear_cross_entropy's variants have in common: which tokens count, the sum of their losses, and how logits become their gradients.
// cuda/kernels/linear_cross_entropy.cu has the formula.
#ifndef TRIAD_LINEAR_CROSS_ENTROPY_TOKENS_CUH
#define TRIAD_LINEAR_CROSS_ENTROPY_TOKENS_CUH
#include <algorithm>

#include "arguments.cuh"
#include "element.cuh"
#include "reduce.cuh"
#include "rows.cuh"

namespace triad {
namespace linear_cross_entropy {

constexpr int threads = 256;

enum Reduction { mean, sum, none };

// Tokens are those of a call, or a chunk of them: what each should have, and what belongs to it.
struct Tokens {
	Vector<const int64_t> target;
	int64_t ignored, first, count, classes;
	int reduction;

	__device__ bool counts(int64_t i) const { return target(first + i) != ignored; }
	__device__ float weight(Vector<const float> dloss, const float *counted, int64_t i) const {
		return dloss(reduction == none ? first + i : 0) / *counted;
	}
	Tokens part(int64_t from, int64_t most) const { return {target, ignored, from, std::min(most, count - from), classes, reduction}; }
};

// ---- the loss of all tokens, the divisor of a mean ------------------------------------------------------------------------------------------

// divisor is how many tokens count, and 1 where nothing is divided; the threads of a block count them together.
__device__ inline float divisor(const Tokens &all, float *scratch) {
	if (all.reduction != mean) return 1.0f;
	float mine = 0.0f; // exact up to 2^24 tokens of one thread
	for (int64_t i = threadIdx.x; i < all.count; i += threads) mine += all.counts(i);
	return fmaxf(block_reduce<threads>(mine, Sum(), scratch), 1.0f);
}

// One block adds up the losses of the tokens, always in the same order.
static __global__ void __launch_bounds__(threads) linear_cross_entropy_reduce_kernel(const float *losses, float *loss, Tokens all) {
	__shared__ float scratch[threads / 32];
	LongSum mine;
	for (int64_t i = threadIdx.x; i < all.count; i += threads) mine.add(losses[i]);
	const float total = block_reduce<threads>(mine.total(), Sum(), scratch);
	const float by = divisor(all, scratch);
	if (threadIdx.x == 0) *loss = total / by;
}

static __global__ void __launch_bounds__(threads) linear_cross_entropy_count_kernel(float *counted, Tokens all) {
	__shared__ float scratch[threads / 32];
	const float by = divisor(all, scratch);
	if (threadIdx.x == 0) *counted = by;
}

// ---- logits that lie in memory --------------------------------------------------------------------------------------------------------------

// loss_of is lse - z_t. The sum max + log would be rounded to the size of max, which may be far larger than the loss.
__device__ inline float loss_of(float z_target, float max, float log) { return (max - z_target) + log; }

// Logits become their gradients, in place. Those of an ignored token are 0, whatever its logits are.
template <class Z>
__global__ void linear_cross_entropy_gradient_kernel(Z *z, const float *lse, Vector<const float> dloss, const float *counted, Tokens part) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= part.count * part.classes) return;
	const int64_t row = i / part.classes, c = i % part.classes;
	float dz = 0.0f;
	if (part.counts(row)) {
		const float p = expf(to_float(z[i]) - lse[part.first + row]);
		dz = part.weight(dloss, counted, row) * (p - (c == part.target(part.first + row) ? 1.0f : 0.0f));
	}
	z[i] = from_float<Z>(dz);
}

} // namespace linear_cross_entropy
} // namespace triad
#endif
