// repeat_kv: y[b, h * groups + g] = k[b, h] for g < groups
// backward   dk[b, h] = the sum over g of dy[b, h * groups + g], in fp32
// Layout   k, dk: [batch, heads_kv, seq, head_dim]; y, dy: [batch, heads_kv * groups, seq, head_dim]; fp32, fp16,
//          bf16: the forward moves elements and never converts them. Outputs are contiguous.
// Limits   batch or seq = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Ainslie et al. 2023, arXiv:2305.13245
//   naive   a thread an element of the output, any strides; the readable one, and the one to trust first.
//           Costs: divisions that find the head, and k read once for every copy
//   vec     16-byte accesses; forward: a thread reads a pack once and writes it for every copy; backward: it
//           has the packs of four copies under way before it adds the first. Costs: contiguous tensors, heads
//           of whole packs
#include "element.cuh"
#include "pack.cuh"
#include "rows.cuh"
#include "spec/repeat_kv.cuh"

namespace {

using triad::from_float;
using triad::to_float;

constexpr int threads = 256;

// ---- kernels ------------------------------------------------------------------------------------------------

// A tensor [batch, heads, seq, head_dim] with any strides.
template <class T> struct Heads {
	const T *data;
	int64_t stride[4];

	explicit Heads(const triad_tensor &t)
	    : data(static_cast<const T *>(t.data)), stride{t.stride[0], t.stride[1], t.stride[2], t.stride[3]} {}
	__device__ T operator()(int64_t b, int64_t h, int64_t s, int64_t d) const {
		return data[b * stride[0] + h * stride[1] + s * stride[2] + d * stride[3]];
	}
};

// The sizes of the pass's output, contiguous.
struct Sizes {
	int64_t heads, seq, dim, elements, groups;
};

template <class T> __global__ void repeat_kv_fwd_naive_kernel(Heads<T> k, T *y, Sizes of) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= of.elements) return;
	const int64_t d = i % of.dim, s = i / of.dim % of.seq, h = i / of.dim / of.seq % of.heads;
	y[i] = k(i / of.dim / of.seq / of.heads, h / of.groups, s, d);
}

template <class T> __global__ void repeat_kv_bwd_naive_kernel(Heads<T> dy, T *dk, Sizes of) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= of.elements) return;
	const int64_t d = i % of.dim, s = i / of.dim % of.seq, h = i / of.dim / of.seq % of.heads;
	triad::LongSum sum;
	for (int64_t g = 0; g < of.groups; g++)
		sum.add(to_float(dy(i / of.dim / of.seq / of.heads, h * of.groups + g, s, d)));
	dk[i] = from_float<T>(sum.total());
}

// n is how many elements a head has, packs how many packs all heads of k have together.
template <class T> __global__ void __launch_bounds__(threads)
    repeat_kv_fwd_vec_kernel(const T *k, T *y, int64_t n, int64_t packs, int64_t groups) {
	constexpr int V = triad::vector<T>;
	const int64_t at = (blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x) * V;
	if (at >= packs * V) return;
	const triad::Pack<T, V> pack = triad::fetch<V>(k + at);
	T *to = y + at / n * groups * n + at % n;
	for (int64_t g = 0; g < groups; g++) triad::put(to + g * n, pack);
}

template <class T> __global__ void __launch_bounds__(threads)
    repeat_kv_bwd_vec_kernel(const T *dy, T *dk, int64_t n, int64_t packs, int64_t groups) {
	constexpr int V = triad::vector<T>, held = 4;
	const int64_t at = (blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x) * V;
	if (at >= packs * V) return;
	const T *from = dy + at / n * groups * n + at % n;
	triad::LongSum sum[V];
	for (int64_t first = 0; first < groups; first += held) {
		triad::Pack<T, V> pack[held];
#pragma unroll
		for (int h = 0; h < held; h++)
			if (first + h < groups) pack[h] = triad::fetch<V>(from + (first + h) * n);
#pragma unroll
		for (int h = 0; h < held; h++) {
			if (first + h >= groups) continue;
#pragma unroll
			for (int j = 0; j < V; j++) sum[j].add(to_float(pack[h].at[j]));
		}
	}
	float total[V];
#pragma unroll
	for (int j = 0; j < V; j++) total[j] = sum[j].total();
	triad::store(dk + at, total);
}

// ---- launchers ----------------------------------------------------------------------------------------------

Sizes sizes_of(const triad_call *call) {
	const triad_tensor &out = call->out[0];
	return {out.shape[1], out.shape[2], out.shape[3], triad::elements(out), static_cast<int64_t>(call->attr[0])};
}

template <class T> T *output(const triad_call *call) { return static_cast<T *>(call->out[0].data); }

template <class T> int repeat_kv_fwd_naive(const triad_call *call) {
	const Sizes of = sizes_of(call);
	if (of.elements == 0) return TRIAD_OK;
	repeat_kv_fwd_naive_kernel<T><<<triad::blocks_for(of.elements, threads), threads, 0, triad::stream_of(call)>>>(
	    Heads<T>(call->in[0]), output<T>(call), of);
	return triad::launched();
}

template <class T> int repeat_kv_bwd_naive(const triad_call *call) {
	const Sizes of = sizes_of(call);
	if (of.elements == 0) return TRIAD_OK;
	repeat_kv_bwd_naive_kernel<T><<<triad::blocks_for(of.elements, threads), threads, 0, triad::stream_of(call)>>>(
	    Heads<T>(call->in[0]), output<T>(call), of);
	return triad::launched();
}

template <class T> int repeat_kv_fwd_vec(const triad_call *call) {
	const Sizes of = sizes_of(call);
	const int64_t packs = triad::elements(call->in[0]) / triad::vector<T>;
	if (packs == 0) return TRIAD_OK;
	repeat_kv_fwd_vec_kernel<T><<<triad::blocks_for(packs, threads), threads, 0, triad::stream_of(call)>>>(
	    static_cast<const T *>(call->in[0].data), output<T>(call), of.seq * of.dim, packs, of.groups);
	return triad::launched();
}

template <class T> int repeat_kv_bwd_vec(const triad_call *call) {
	const Sizes of = sizes_of(call);
	const int64_t packs = of.elements / triad::vector<T>;
	if (packs == 0) return TRIAD_OK;
	repeat_kv_bwd_vec_kernel<T><<<triad::blocks_for(packs, threads), threads, 0, triad::stream_of(call)>>>(
	    static_cast<const T *>(call->in[0].data), output<T>(call), of.seq * of.dim, packs, of.groups);
	return triad::launched();
}

// whole_heads: a pack lies in one head.
triad::Limit whole_heads() {
	return triad::limit("seq * head_dim a multiple of the elements in 16 bytes", [](triad::Check &check,
	                                                                                const triad_call *call) {
		const long long n = call->in[0].shape[2] * call->in[0].shape[3];
		const long long vector = 16 / triad::element_bytes(call->in[0].dtype);
		check.that(n % vector == 0, "seq * head_dim %lld is not a multiple of %lld", n, vector);
	});
}

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(repeat_kv, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(repeat_kv_fwd_naive)))
TRIAD_KERNEL(repeat_kv, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors()).limits(whole_heads())
             .launch(TRIAD_BY_DTYPE(repeat_kv_fwd_vec)))
TRIAD_KERNEL(repeat_kv, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(repeat_kv_bwd_naive)))
TRIAD_KERNEL(repeat_kv, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors()).limits(whole_heads())
             .launch(TRIAD_BY_DTYPE(repeat_kv_bwd_vec)))
