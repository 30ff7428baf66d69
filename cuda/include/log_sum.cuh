// log_sum.cuh: the maximum of some numbers, and the sum of exp(x - maximum), in one pass over them.
#ifndef TRIAD_LOG_SUM_CUH
#define TRIAD_LOG_SUM_CUH
#include "pack.cuh"
#include "reduce.cuh"

namespace triad {

// LogSum is what the numbers so far gave. Empty: -inf and 0; -inf adds nothing.
struct LogSum {
	float max, sum;

	// take takes several numbers at once, which costs one rescaling. NaN is not above the maximum, and poisons the sum; so does +inf.
	template <int N> __device__ void take(const float (&x)[N]) {
		float top = max, more = 0.0f;
#pragma unroll
		for (int j = 0; j < N; j++) top = fmaxf(top, x[j]);
		const float from = top == -INFINITY ? 0.0f : top; // -inf - -inf would be NaN
#pragma unroll
		for (int j = 0; j < N; j++) more += expf(x[j] - from);
		sum = sum * expf(max - from) + more;
		max = top;
	}

	// log of the sum; NaN where every number is -inf, or one is NaN or +inf.
	__device__ float log() const { return max == -INFINITY ? NAN : logf(sum); }
};

__device__ inline LogSum shuffle_xor(LogSum v, int lanes) { return {shuffle_xor(v.max, lanes), shuffle_xor(v.sum, lanes)}; }

struct MergeLogSums {
	__device__ LogSum operator()(LogSum a, LogSum b) const {
		const float max = fmaxf(a.max, b.max);
		const float of_a = a.max == max ? 1.0f : expf(a.max - max); // equal, not subtracted: both may be infinite
		const float of_b = b.max == max ? 1.0f : expf(b.max - max);
		return {max, a.sum * of_a + b.sum * of_b};
	}
};

// block_log_sum is that of the first n elements of a row, which is aligned to 16 bytes and has whole vectors of 16 bytes, the last one beyond n too.
// Every thread of the block gets it. scratch: as for block_reduce.
template <int Threads, class T> __device__ inline LogSum block_log_sum(const T *row, int64_t n, LogSum *scratch) {
	constexpr int V = vector<T>;
	LogSum mine = {-INFINITY, 0.0f};
	for (int64_t c = threadIdx.x * V; c < n; c += Threads * V) {
		float v[V];
		load(row + c, v);
#pragma unroll
		for (int j = 0; j < V; j++) v[j] = c + j < n ? v[j] : -INFINITY;
		mine.take(v);
	}
	return block_reduce<Threads>(mine, MergeLogSums(), scratch);
}

} // namespace triad
#endif
