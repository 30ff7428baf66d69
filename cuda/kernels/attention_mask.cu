// attention_mask: mask[b,i,j] = 0 where i < lengths_q[b], j < lengths_kv[b] and, if causal,
//                 j <= i + lengths_kv[b] - lengths_q[b]; -inf elsewhere
// Layout   lengths_q, lengths_kv: [batch] int32 with any stride, 0 to seq_q and seq_kv; mask: [batch, seq_q, seq_kv] in
//          fp32, fp16 or bf16, contiguous. A query that is padding sees nothing: its row is all -inf.
// Limits   a mask without elements launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Vaswani et al. 2017, arXiv:1706.03762, section 3.2.3; Dao 2023, arXiv:2307.08691
//   naive   a thread an element, the condition as it is written; the readable one, and the one to trust
//           first. Costs: divisions and two lengths for every element
//   vec     a warp a row: what a query sees are the first so many keys, and their number is found once;
//           16-byte stores. Costs: rows of whole packs
#include <cmath>

#include "element.cuh"
#include "pack.cuh"
#include "rows.cuh"
#include "spec/attention_mask.cuh"

namespace {

constexpr int threads = 256, warp = 32;

// The mask that is asked for, and the lengths of its sequences.
struct Masked {
	triad::Vector<const int32_t> lengths_q, lengths_kv;
	int64_t batch, seq_q, seq_kv;
	bool causal;
};

// ---- kernels ------------------------------------------------------------------------------------------------

template <class T> __global__ void attention_mask_naive_kernel(T *mask, Masked of) {
	const int64_t at = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (at >= of.batch * of.seq_q * of.seq_kv) return;
	const int64_t j = at % of.seq_kv, i = at / of.seq_kv % of.seq_q, b = at / of.seq_kv / of.seq_q;
	const int64_t queries = of.lengths_q(b), keys = of.lengths_kv(b);
	const bool seen = i < queries && j < keys && (!of.causal || j <= i + keys - queries);
	mask[at] = triad::from_float<T>(seen ? 0.0f : -INFINITY);
}

// Adds: the divisions and the lengths are taken once a row, not once an element, and a store has 16 bytes. Costs rows
// of whole packs.
template <class T> __global__ void __launch_bounds__(threads) attention_mask_vec_kernel(T *mask, Masked of) {
	constexpr int V = triad::vector<T>;
	const int64_t row = blockIdx.x * static_cast<int64_t>(threads / warp) + threadIdx.x / warp;
	if (row >= of.batch * of.seq_q) return;
	const int64_t b = row / of.seq_q, i = row % of.seq_q;
	const int64_t queries = of.lengths_q(b), keys = of.lengths_kv(b);
	int64_t visible = of.causal && i + 1 < queries ? i + 1 + keys - queries : keys;
	if (i >= queries) visible = 0;
	T *to = mask + row * of.seq_kv;
	for (int64_t first = threadIdx.x % warp * V; first < of.seq_kv; first += warp * V) {
		float values[V];
#pragma unroll
		for (int v = 0; v < V; v++) values[v] = first + v < visible ? 0.0f : -INFINITY;
		triad::store(to + first, values);
	}
}

// ---- launchers ----------------------------------------------------------------------------------------------

Masked masked(const triad_call *call) {
	const int64_t *shape = call->out[0].shape;
	return {triad::Vector<const int32_t>(call->in[0]), triad::Vector<const int32_t>(call->in[1]), shape[0], shape[1],
	        shape[2], call->attr[2] != 0};
}

template <class T> struct Naive {
	static void launch(const triad_call *call, T *mask, const Masked &of) {
		attention_mask_naive_kernel<<<triad::blocks_for(of.batch * of.seq_q * of.seq_kv, threads), threads, 0,
		                              triad::stream_of(call)>>>(mask, of);
	}
};

template <class T> struct Vec {
	static void launch(const triad_call *call, T *mask, const Masked &of) {
		attention_mask_vec_kernel<<<triad::blocks_for(of.batch * of.seq_q, threads / warp), threads, 0,
		                            triad::stream_of(call)>>>(mask, of);
	}
};

template <template <class> class Variant, class T> void launch_of(const triad_call *call) {
	Variant<T>::launch(call, static_cast<T *>(call->out[0].data), masked(call));
}

template <template <class> class Variant> int launch(const triad_call *call) {
	if (triad::elements(call->out[0]) == 0) return TRIAD_OK;
	switch (call->out[0].dtype) {
	case TRIAD_F32: launch_of<Variant, float>(call); break;
	case TRIAD_F16: launch_of<Variant, __half>(call); break;
	case TRIAD_BF16: launch_of<Variant, __nv_bfloat16>(call); break;
	default: return TRIAD_UNSUPPORTED;
	}
	return triad::launched();
}

// whole_rows: each row of the mask begins at 16 bytes.
triad::Limit whole_rows() {
	return triad::limit("seq_kv a multiple of the elements in 16 bytes", [](triad::Check &check, const triad_call *call) {
		const long long cols = call->out[0].shape[2], vector = 16 / triad::element_bytes(call->out[0].dtype);
		check.that(cols % vector == 0, "seq_kv %lld is not a multiple of %lld", cols, vector);
	});
}

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(attention_mask, naive, forward,
             .contract("exact").dtypes(triad::bit(TRIAD_I32)).outputs(1).launch(launch<Naive>))
TRIAD_KERNEL(attention_mask, vec, forward,
             .contract("exact").dtypes(triad::bit(TRIAD_I32)).outputs(1).limits(triad::aligned(16, "mask"))
             .limits(whole_rows()).launch(launch<Vec>))
