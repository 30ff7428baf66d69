// mla_decode: o[b,i,h] = softmax_j(scale * q[b,i,h] . c_j) v_j, lse[b,h,i] = ln sum_j exp(scale * q[b,i,h] . c_j), over the visible tokens j of
//             sequence b: c_j = cache[block_table[b, j / 64], j % 64] is the latent row that all heads share, v_j its first Dv elements
// Layout   q [B, Sq, H, D] and cache [blocks, 64, D] in fp32, fp16 or bf16; block_table [B, pages] and lengths [B] int32; o [B, Sq, H, Dv]; lse
//          [B, H, Sq] fp32, natural. Token j is visible if j < lengths[b], and causal if j <= i + lengths[b] - Sq. What lies past a length, in the
//          cache or in the table, is not read: it may be NaN, or no block. A query that sees nothing gives 0, and empty_lse.
// Numerics scores, weights and sums in fp32
// Limits   D at most 1024; a call outside a variant's own limit answers UNSUPPORTED.
// Source   DeepSeek-AI 2024, arXiv:2405.04434; online softmax: Milakov & Gimelshein 2018, arXiv:1805.02867; cut into parts: flash-decoding, Dao et
//          al. 2023
//   naive     a block a row of o, any strides; the readable one, and the one to trust first. Costs: every head
//             reads the whole sequence
//   split     16 heads and a part of a sequence a block, then the parts are joined: one read serves 16 heads,
//             and few requests fill the GPU. Costs: a workspace, contiguous rows of whole 16 elements
//   sm80_mma  64 heads a block, both products on tensor cores, tiles by cp.async, fp16 and bf16. Costs: a GPU of
//             8.0 with 150 KB of shared memory for a block, P in 16 bits
//   sm90_tma  64 rows a block on Hopper's tensor cores, of any queries of a sequence, pages by TMA; tokens are divided
//             evenly. fp16 and bf16. Costs: 223 KB of shared memory, rows of 576 and values of 512 alone, P in 16 bits,
//             a NaN within a length reaches queries of its block that do not see it
// Pipelines  latent/split.cuh, latent/sm80_mma.cuh and mla_decode/sm90_tma.cuh
#include "capability.cuh"
#include "latent/sm80_mma.cuh"
#include "latent/split.cuh"
#include "mla_decode/sm90_tma.cuh"
#include "spec/mla_decode.cuh"

namespace {

using namespace triad::latent;

// ---- naive --------------------------------------------------------------------------------------------------

constexpr int naive_threads = 128, most_dim = 1024;

template <class T> __global__ void __launch_bounds__(naive_threads) mla_decode_naive_kernel(Decode<T> a) {
	__shared__ float q[most_dim], weight[page];
	const int64_t row = blockIdx.x, b = row / a.heads / a.seq_q;
	const int h = static_cast<int>(row % a.heads), i = static_cast<int>(row / a.heads % a.seq_q), t = static_cast<int>(threadIdx.x);
	const int keys = a.visible(b, i);
	const T *const query = a.query(b, i, h);
	for (int c = t; c < a.dim; c += naive_threads) q[c] = triad::to_float(query[c * a.q_stride[3]]);
	float sum[most_dim / naive_threads] = {}, max = -INFINITY, total = 0;
	for (int first = 0; first < keys; first += page) {
		const int here = min(page, keys - first);
		const T *const rows = a.rows_of(b, first / page);
		__syncthreads(); // q is there, and the weights of the page before have been read
		for (int j = t / warp; j < here; j += naive_threads / warp) {
			const T *const latent = rows + j * a.cache_stride[1];
			triad::LongSum dot;
			for (int c = t % warp; c < a.dim; c += warp) dot.add(q[c] * triad::to_float(latent[c * a.cache_stride[2]]));
			const float score = triad::warp_reduce(dot.total(), triad::Sum()) * a.scale;
			if (t % warp == 0) weight[j] = score;
		}
		__syncthreads();
		float top = max;
		for (int j = 0; j < here; j++) top = fmaxf(top, weight[j]);
		__syncthreads(); // every thread has the maximum
		if (t < here) weight[t] = expf(weight[t] - base(top));
		__syncthreads();
		const float decay = expf(max - base(top));
		max = top;
		float more = 0;
		for (int j = 0; j < here; j++) more += weight[j];
		total = total * decay + more;
#pragma unroll
		for (int k = 0; k < most_dim / naive_threads; k++) {
			const int c = t + k * naive_threads;
			if (c >= a.dim_v) break;
			float part = 0;
			for (int j = 0; j < here; j++) part += weight[j] * triad::to_float(rows[j * a.cache_stride[1] + c * a.cache_stride[2]]);
			sum[k] = sum[k] * decay + part;
		}
	}
#pragma unroll
	for (int k = 0; k < most_dim / naive_threads; k++) {
		const int c = t + k * naive_threads;
		if (c < a.dim_v) a.o[row * a.dim_v + c] = triad::from_float<T>(keys > 0 ? sum[k] / total : 0.0f);
	}
	if (a.lse != nullptr && t == 0) a.lse[a.statistic(b, i, h)] = keys > 0 ? log_of(max, total) : a.empty;
}

template <class T> int launch_naive(const triad_call *call) {
	const Decode<T> a(call);
	if (a.queries() == 0) return TRIAD_OK;
	mla_decode_naive_kernel<T><<<static_cast<unsigned>(a.queries() * a.heads), naive_threads, 0, triad::stream_of(call)>>>(a);
	return triad::launched();
}

// ---- registration -------------------------------------------------------------------------------------------

// whole_rows: rows and values are runs of 16 elements that a block can hold.
triad::Limits whole_rows() {
	return {triad::contiguous("q", "cache"), triad::aligned(16, "q", "cache"),
	        triad::limit("head_dim and head_dim_v multiples of 16, at most 576 and 512", [](triad::Check &check, const triad_call *call) {
		        const long long dim = call->in[0].shape[3], dim_v = call->out[0].shape[3];
		        check.that(dim % 16 == 0 && dim <= split_dim, "head_dim %lld is not a multiple of 16 up to %d", dim, split_dim);
		        check.that(dim_v % 16 == 0 && dim_v <= split_dim_v, "head_dim_v %lld is not a multiple of 16 up to %d", dim_v, split_dim_v);
	        })};
}

void check_shared(triad::Check &check, int needed) {
	const int most = triad::device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
	check.that(most >= needed, "a block needs %d bytes of shared memory, this GPU gives %d", needed, most);
}

// tensor_cores: a GPU that has them, and the shared memory of a block.
triad::Limits tensor_cores() {
	return {triad::capability("mma of 16 x 8 x 16 elements", 80, true),
	        triad::limit("as much shared memory as its tiles take", [](triad::Check &check, const triad_call *call) {
		        check_shared(check, mma_bytes(static_cast<int>(call->in[0].shape[3])));
	        })};
}

// wide: rows as the tiles of Hopper's tensor cores hold them, and what the copy engine asks.
triad::Limits wide() {
	return {triad::contiguous("q", "cache"), triad::aligned(16, "q", "cache", "o"), triad::wgmma_capability(),
	        triad::limit("head_dim 576 and head_dim_v 512", [](triad::Check &check, const triad_call *call) {
		        const int dim = static_cast<int>(call->in[0].shape[3]), dim_v = static_cast<int>(call->out[0].shape[3]);
		        check.that(dim == 64 * Large::panels && dim_v == 64 * Large::value_panels, "head_dim is %d and head_dim_v %d", dim, dim_v);
	        }),
	        triad::limit("as much shared memory as its tiles take",
	                     [](triad::Check &check, const triad_call *) { check_shared(check, TmaPlan::bytes); })};
}

// workspace measures the parts, which are of fp32 whatever the dtype of q.
template <auto Of> int64_t workspace(const triad_call *call) {
	triad::Room room(call);
	Of(Decode<__half>(call), room);
	return room.used;
}

constexpr uint32_t full = triad::bit(TRIAD_F32), halves = triad::bit(TRIAD_F16) | triad::bit(TRIAD_BF16), o_and_lse = 3;

// Weights stay in fp32 throughout, which meets p16, the contract of 16-bit attention, as well.
TRIAD_KERNEL(mla_decode, naive, forward, .contract("fp32").dtypes(full).outputs(o_and_lse).launch(TRIAD_BY_DTYPE(launch_naive)))
TRIAD_KERNEL(mla_decode, naive, forward, .contract("p16").dtypes(halves).outputs(o_and_lse).launch(TRIAD_BY_DTYPE(launch_naive)))
TRIAD_KERNEL(mla_decode, split, forward,
             .contract("fp32").dtypes(full).outputs(o_and_lse).limits(whole_rows()).workspace(workspace<split_parts<__half>>).launch(TRIAD_BY_DTYPE(launch_split)))
TRIAD_KERNEL(mla_decode, split, forward,
             .contract("p16").dtypes(halves).outputs(o_and_lse).limits(whole_rows()).workspace(workspace<split_parts<__half>>).launch(TRIAD_BY_DTYPE(launch_split)))

TRIAD_KERNEL(mla_decode, sm80_mma, forward,
             .asynchronous().contract("p16").dtypes(halves).outputs(o_and_lse).limits(whole_rows()).limits(tensor_cores())
             .workspace(workspace<mma_parts<__half>>).launch(TRIAD_BY_HALF(launch_mma)))

TRIAD_KERNEL(mla_decode, sm90_tma, forward,
             .asynchronous().contract("p16").dtypes(halves).outputs(o_and_lse).limits(wide())
             .workspace(workspace<tma_schedule<__half>>).launch(TRIAD_BY_HALF(launch_tma)))

} // namespace
