// dropout: y = word >= p * 2^32 ? x * float(1 / (1 - p)) : 0; mask = kept          backward: dx = the same of dy
// Layout   x, y, mask, dy, dx: [n], contiguous; mask: a byte each, 0 or 1; fp32, fp16, bf16; the product in fp32.
// Limits   n = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Special  The words are those of Philox-4x32-10: counter offset + i / 4, key seed, word i % 4. They depend on
//          nothing but seed and place, so the backward computes them again, and no mask has to be kept.
// Source   Srivastava et al. 2014, Dropout; Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3
//   naive   a thread an element, which computes four words and uses one; the readable one, and the one to trust first
//   vec     16-byte accesses, and every word is used: a thread has one pack, of four or eight elements, or two
//           where there is no mask. Costs: registers for the words; contiguous tensors that begin at a multiple of 16 bytes
#include <cmath>

#include "element.cuh"
#include "pack.cuh"
#include "rows.cuh"
#include "spec/dropout.cuh"

namespace {

using triad::from_float;
using triad::to_float;

constexpr int threads = 256;

// ---- kernels ------------------------------------------------------------------------------------------------

struct Words {
	uint32_t at[4];
};

// Ten rounds of two products of 32 by 32 bits, whose halves change places: a bijection of the counter for each key.
__device__ inline Words philox(uint64_t counter, uint64_t seed) {
	uint32_t a = static_cast<uint32_t>(counter), b = static_cast<uint32_t>(counter >> 32), c = 0, d = 0;
	uint32_t low = static_cast<uint32_t>(seed), high = static_cast<uint32_t>(seed >> 32);
#pragma unroll
	for (int round = 0; round < 10; round++) {
		const uint64_t first = static_cast<uint64_t>(a) * 0xD2511F53u, second = static_cast<uint64_t>(c) * 0xCD9E8D57u;
		a = static_cast<uint32_t>(second >> 32) ^ b ^ low;
		b = static_cast<uint32_t>(second);
		c = static_cast<uint32_t>(first >> 32) ^ d ^ high;
		d = static_cast<uint32_t>(first);
		low += 0x9E3779B9u;
		high += 0xBB67AE85u;
	}
	return {{a, b, c, d}};
}

// Which elements are kept, and what they are multiplied by.
struct Rule {
	uint64_t seed, offset;
	uint32_t threshold;
	float factor;

	__device__ Words words(int64_t block) const { return philox(offset + static_cast<uint64_t>(block), seed); }
};

// mask may be null.
template <class T> __global__ void dropout_naive_kernel(const T *x, T *y, uint8_t *mask, int64_t n, Rule rule) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= n) return;
	const Words words = rule.words(i / 4);
	const bool kept = words.at[i % 4] >= rule.threshold;
	if (y != nullptr) y[i] = from_float<T>(kept ? to_float(x[i]) * rule.factor : 0.0f);
	if (mask != nullptr) mask[i] = kept;
}

// A thread has Packs packs, whose loads are under way while it computes words.
template <class T, int Packs>
__global__ void __launch_bounds__(threads) dropout_vec_kernel(const T *x, T *y, uint8_t *mask, int64_t n, Rule rule) {
	constexpr int V = triad::vector<T>;
	const int64_t begin = (blockIdx.x * static_cast<int64_t>(threads) * Packs + threadIdx.x) * V;
	triad::Pack<T, V> packs[Packs];
#pragma unroll
	for (int p = 0; p < Packs; p++)
		if (begin + (p * threads + 1) * V <= n) packs[p] = triad::fetch<V>(x + begin + p * threads * V);
#pragma unroll
	for (int p = 0; p < Packs; p++) {
		const int64_t first = begin + p * threads * V;
		if (first >= n) return;
		bool kept[V];
#pragma unroll
		for (int j = 0; j < V; j += 4) {
			const Words words = rule.words((first + j) / 4);
#pragma unroll
			for (int w = 0; w < 4; w++) kept[j + w] = words.at[w] >= rule.threshold;
		}
		if (first + V <= n) {
			float v[V];
			triad::unpack(packs[p], v);
			triad::Pack<uint32_t, V / 4> bytes = {};
#pragma unroll
			for (int j = 0; j < V; j++) {
				v[j] = kept[j] ? v[j] * rule.factor : 0.0f;
				bytes.at[j / 4] |= kept[j] ? 1u << j % 4 * 8 : 0u;
			}
			if (y != nullptr) triad::store(y + first, v);
			if (mask != nullptr) *reinterpret_cast<triad::Pack<uint32_t, V / 4> *>(mask + first) = bytes;
			continue;
		}
#pragma unroll
		for (int j = 0; j < V; j++) {
			if (first + j >= n) break;
			if (y != nullptr) y[first + j] = from_float<T>(kept[j] ? to_float(x[first + j]) * rule.factor : 0.0f);
			if (mask != nullptr) mask[first + j] = kept[j];
		}
	}
}

// ---- launchers: of either pass ------------------------------------------------------------------------------

Rule rule_of(const triad_call *call) {
	const double p = static_cast<float>(call->attr[0]);
	return {static_cast<uint64_t>(call->attr[1]), static_cast<uint64_t>(call->attr[2]),
	        static_cast<uint32_t>(std::nearbyint(p * 4294967296.0)), static_cast<float>(1.0 / (1.0 - p))};
}

uint8_t *mask_of(const triad_call *call) {
	return call->n_out > 1 ? static_cast<uint8_t *>(call->out[1].data) : nullptr;
}

template <class T> int dropout_naive(const triad_call *call) {
	const int64_t n = call->in[0].shape[0];
	if (n == 0) return TRIAD_OK;
	dropout_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
	    static_cast<const T *>(call->in[0].data), static_cast<T *>(call->out[0].data), mask_of(call), n, rule_of(call));
	return triad::launched();
}

template <class T, int Packs> int dropout_packs(const triad_call *call) {
	const int64_t n = call->in[0].shape[0];
	if (n == 0) return TRIAD_OK;
	dropout_vec_kernel<T, Packs><<<triad::blocks_for(n, threads * Packs * triad::vector<T>), threads, 0, triad::stream_of(call)>>>(
	    static_cast<const T *>(call->in[0].data), static_cast<T *>(call->out[0].data), mask_of(call), n, rule_of(call));
	return triad::launched();
}

// Without a mask two packs a thread are the faster.
template <class T> int dropout_vec(const triad_call *call) { return mask_of(call) != nullptr ? dropout_packs<T, 1>(call) : dropout_packs<T, 2>(call); }

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(dropout, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(dropout_naive)))
TRIAD_KERNEL(dropout, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(triad::whole_vectors())
             .launch(TRIAD_BY_DTYPE(dropout_vec)))
TRIAD_KERNEL(dropout, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(dropout_naive)))
TRIAD_KERNEL(dropout, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors())
             .launch(TRIAD_BY_DTYPE(dropout_vec)))
