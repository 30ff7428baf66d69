// moe_dispatch: rows[q,i] = x[r,t] for the i-th token that chose an expert of rank q, by r and then t, with its choice and weights there
// backward   grad_x[r,t] = 0 + the sum of grad_rows over its rows, by rank, in fp32; grad_weight of the row on its expert's rank
// Layout   x, grad_x: [ranks, tokens, dim], fp32, fp16, bf16; choice: [ranks, tokens, top] int64, experts of a rank neighbours, others none;
//          weight, grad_weight fp32, alike; rows: [ranks, ranks * tokens, dim], 0 past those that a rank gets; row_choice int64 (the expert's number
//          on its rank, else -1), row_weight fp32 (else 0): [ranks, ranks * tokens, top]; source: [ranks, ranks * tokens] int32, r * tokens + t, or
//          -1; received: [ranks] int32; of_expert: [ranks, experts / ranks] int32, rounded up to align. Outputs are contiguous.
// Limits   tokens = 0 only writes the counts; a call outside a variant's own limit answers UNSUPPORTED.
// Source   DeepSeek-AI 2025, DeepEP, deep_ep/utils/refs.py; Lepikhin et al. 2020, arXiv:2006.16668
//   naive   a thread a rank goes through all tokens and notes which lies in which row, a thread an expert counts, then a thread an element
//           copies, any strides; the readable one, and the one to trust first. Costs: as many steps one after the other as there are tokens
//   vec     a block a rank counts tokens 512 at a time, and atomics the choices; then a block a row copies 16 bytes a thread. Costs:
//           contiguous tensors, dim whole packs
//   peer_stores  the ranks on two GPUs: tokens are stored into the rows over there; back, rows where tokens come from. Costs: a token crosses
//                once for each rank that gets it
//   peer_copies  x is copied whole, then its rows are written; back, rows are packed and copied. Costs: memory for the other's x; back, for each
//                rank and token, all of which crosses
#include "element.cuh"
#include "expert_parallel_pair.cuh"
#include "spec/moe_dispatch.cuh"

namespace {

using triad::Routing;

constexpr int threads = triad::element_threads;

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------

// A thread an expert.
__global__ void moe_dispatch_counts_naive_kernel(Routing in, int32_t *of_expert, int64_t align) {
	const int64_t expert = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (expert >= in.ranks * in.experts) return;
	int64_t n = 0;
	for (int64_t i = 0; i < in.room() * in.top; i++) n += in.choice[i] == expert;
	of_expert[expert] = static_cast<int32_t>((n + align - 1) / align * align);
}

// A thread a choice adds 1 to its expert's count, which is 0 before.
__global__ void moe_dispatch_counts_kernel(Routing in, int32_t *of_expert) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (i < in.room() * in.top && in.rank_of(0, i) >= 0) atomicAdd(of_expert + in.choice[i], 1);
}

__global__ void moe_dispatch_round_kernel(int32_t *of_expert, int64_t experts, int64_t align) {
	const int64_t expert = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (expert < experts) of_expert[expert] = static_cast<int32_t>((of_expert[expert] + align - 1) / align * align);
}

// A thread a choice, on each device, which counts its own ranks' alone.
__global__ void moe_dispatch_counts_pair_kernel(Routing in, triad::EachOf<triad::Side> sides, int32_t *of_expert, int first) {
	const int device = first + blockIdx.y;
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	in.choice = sides[device].choice;
	if (i >= in.room() * in.top) return;
	if (const int64_t rank = in.rank_of(0, i); rank >= 0 && triad::half_of(in.ranks, device).has(rank)) atomicAdd(of_expert + in.choice[i], 1);
}

__global__ void moe_dispatch_round_pair_kernel(Routing in, int32_t *of_expert, int64_t align, int first) {
	const triad::Span here = triad::half_of(in.ranks, first + blockIdx.y);
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	int32_t *const count = of_expert + here.first * in.experts + i;
	if (i < here.count * in.experts) *count = static_cast<int32_t>((*count + align - 1) / align * align);
}

// Places of a tensor [ranks, tokens or rows of each, top] of weights.
using Weights = triad::Tokens<float>;

// A thread a place of a row.
__global__ void moe_dispatch_places_kernel(Routing in, Weights weight, const int32_t *source, int64_t *row_choice, float *row_weight) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x, row = i / in.top, place = i % in.top;
	if (row >= in.ranks * in.room()) return;
	const int64_t token = source[row], expert = token < 0 ? -1 : in.expert(row / in.room(), token, place);
	row_choice[i] = expert;
	row_weight[i] = expert < 0 ? 0.0f : weight(token / in.tokens, token % in.tokens, place);
}

// A thread a place of a token. row_of: [ranks, tokens of all].
__global__ void moe_dispatch_grad_weight_kernel(Routing in, Weights upstream, const int32_t *row_of, float *grad_weight) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x, token = i / in.top, place = i % in.top;
	if (token >= in.room()) return;
	const int64_t rank = in.rank_of(token, place);
	grad_weight[i] = rank < 0 ? 0.0f : upstream(rank, row_of[rank * in.room() + token], place);
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

Routing routing(const triad_call *call, int choice) { return {call->in[choice], static_cast<int64_t>(call->attr[0])}; }
template <class T> T *output(const triad_call *call, int i) { return static_cast<T *>(call->out[i].data); }
int64_t align_of(const triad_call *call) { return static_cast<int64_t>(call->attr[1]); }

void copy_places(const triad_call *call, const Routing &in) {
	const int64_t n = in.ranks * in.room() * in.top;
	if (n > 0)
		moe_dispatch_places_kernel<<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
		    in, Weights(call->in[2]), output<int32_t>(call, 3), output<int64_t>(call, 2), output<float>(call, 1));
}

template <class T> int moe_dispatch_fwd_naive(const triad_call *call) {
	const Routing in = routing(call, 1);
	const cudaStream_t stream = triad::stream_of(call);
	triad::find_routes_naive(in, {output<int32_t>(call, 3), nullptr, output<int32_t>(call, 4)}, stream);
	moe_dispatch_counts_naive_kernel<<<triad::blocks_for(in.ranks * in.experts, 32), 32, 0, stream>>>(in, output<int32_t>(call, 5), align_of(call));
	triad::copy_rows_naive<T>(call->in[0], output<int32_t>(call, 3), call->out[0], stream);
	copy_places(call, in);
	return triad::launched();
}

template <class T> int moe_dispatch_fwd_vec(const triad_call *call) {
	const Routing in = routing(call, 1);
	const cudaStream_t stream = triad::stream_of(call);
	const int64_t experts = in.ranks * in.experts, n = in.room() * in.top;
	int32_t *const of_expert = output<int32_t>(call, 5);
	if (const cudaError_t error = cudaMemsetAsync(of_expert, 0, experts * sizeof(int32_t), stream)) return error;
	triad::find_routes(in, {output<int32_t>(call, 3), nullptr, output<int32_t>(call, 4)}, stream);
	if (n > 0) moe_dispatch_counts_kernel<<<triad::blocks_for(n, threads), threads, 0, stream>>>(in, of_expert);
	if (align_of(call) > 1)
		moe_dispatch_round_kernel<<<triad::blocks_for(experts, threads), threads, 0, stream>>>(of_expert, experts, align_of(call));
	triad::copy_rows<T>(call->in[0], output<int32_t>(call, 3), call->out[0], stream);
	copy_places(call, in);
	return triad::launched();
}

template <class T> int moe_dispatch_bwd(const triad_call *call, bool vec) {
	const Routing in = routing(call, 2);
	const cudaStream_t stream = triad::stream_of(call);
	int32_t *const row_of = static_cast<int32_t *>(call->workspace);
	if (in.room() == 0) return TRIAD_OK;
	(vec ? triad::find_routes : triad::find_routes_naive)(in, {nullptr, row_of, nullptr}, stream);
	if (call->out[0].data != nullptr) (vec ? triad::add_rows<T> : triad::add_rows_naive<T>)(call->in[0], row_of, call->out[0], stream);
	if (call->out[1].data != nullptr)
		moe_dispatch_grad_weight_kernel<<<triad::blocks_for(in.room() * in.top, threads), threads, 0, stream>>>(in, Weights(call->in[1]), row_of,
		                                                                                                         output<float>(call, 1));
	return triad::launched();
}

template <class T> int moe_dispatch_bwd_naive(const triad_call *call) { return moe_dispatch_bwd<T>(call, false); }
template <class T> int moe_dispatch_bwd_vec(const triad_call *call) { return moe_dispatch_bwd<T>(call, true); }

// The row of each token on each rank.
int64_t rows_of_tokens(const triad_call *call) {
	return call->in[0].shape[0] * call->in[0].shape[1] * static_cast<int64_t>(sizeof(int32_t));
}

constexpr triad::Needs stored = {false, true, true, false}, packed = {false, true, true, true}, whole = {true, true, false, false}, none = {};

template <class T> int moe_dispatch_fwd_pair(const triad_call *call, bool stores) {
	const Routing in = routing(call, 1);
	const int64_t dim = call->in[0].shape[2], choices = in.room() * in.top;
	const auto sides = triad::sides_of(call->workspace, in, dim * static_cast<int64_t>(sizeof(T)), stores ? none : whole);
	int32_t *const source = output<int32_t>(call, 3), *const of_expert = output<int32_t>(call, 5);
	const triad::Dispatch<T> d = {static_cast<const T *>(call->in[0].data), static_cast<const float *>(call->in[2].data), output<T>(call, 0),
	                              output<float>(call, 1), output<int64_t>(call, 2), dim};
	triad::DevicePair pair(call);
	triad::share_choice(pair, in, sides, stores);
	if (!stores) triad::cross_beside(pair, in, d, sides);
	for (int device = 0; device < 2; device++) {
		const triad::Span here = triad::half_of(in.ranks, device);
		pair.clear(device, of_expert + here.first * in.experts, here.count * in.experts * static_cast<int64_t>(sizeof(int32_t)));
	}
	triad::route_pair(pair, in, sides, source, output<int32_t>(call, 4));
	if (choices > 0)
		pair.each([&](triad::Share at, cudaStream_t stream) {
			moe_dispatch_counts_pair_kernel<<<at.grid(triad::blocks_for(choices, threads)), threads, 0, stream>>>(in, sides, of_expert, at.first);
		});
	if (align_of(call) > 1)
		pair.each([&](triad::Share at, cudaStream_t stream) {
			moe_dispatch_round_pair_kernel<<<at.grid(triad::blocks_for(in.ranks * in.experts, threads)), threads, 0, stream>>>(in, of_expert, align_of(call),
			                                                                                                             at.first);
		});
	triad::dispatch_pair(pair, in, d, sides, source, stores);
	return pair.end();
}

template <class T> int moe_dispatch_bwd_pair(const triad_call *call, bool stores) {
	const Routing in = routing(call, 2);
	const int64_t dim = call->in[0].shape[2];
	const auto sides = triad::sides_of(call->workspace, in, dim * static_cast<int64_t>(sizeof(T)), stores ? stored : packed);
	if (in.room() == 0) return TRIAD_OK;
	triad::DevicePair pair(call);
	triad::share_choice(pair, in, sides, stores);
	triad::route_pair(pair, in, sides, nullptr, nullptr);
	triad::combine_pair<T>(pair, in,
	                       {static_cast<const T *>(call->in[0].data), static_cast<const float *>(call->in[1].data), output<T>(call, 0),
	                        output<float>(call, 1), dim},
	                       sides, stores);
	return pair.end();
}

template <class T> int moe_dispatch_fwd_stores(const triad_call *call) { return moe_dispatch_fwd_pair<T>(call, true); }
template <class T> int moe_dispatch_fwd_copies(const triad_call *call) { return moe_dispatch_fwd_pair<T>(call, false); }
template <class T> int moe_dispatch_bwd_stores(const triad_call *call) { return moe_dispatch_bwd_pair<T>(call, true); }
template <class T> int moe_dispatch_bwd_copies(const triad_call *call) { return moe_dispatch_bwd_pair<T>(call, false); }

// The scratch memory of both devices; choice is the input that holds it.
int64_t both(const triad_call *call, int choice, triad::Needs needs) {
	return 2 * triad::side_bytes(routing(call, choice), call->in[0].shape[2] * triad::element_bytes(call->in[0].dtype), needs);
}
int64_t scratch_fwd_stores(const triad_call *call) { return both(call, 1, none); }
int64_t scratch_fwd_copies(const triad_call *call) { return both(call, 1, whole); }
int64_t scratch_bwd_stores(const triad_call *call) { return both(call, 2, stored); }
int64_t scratch_bwd_copies(const triad_call *call) { return both(call, 2, packed); }

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(moe_dispatch, naive, forward,
             .contract("exact").dtypes(triad::floats).outputs(63).limits(triad::contiguous("choice"))
             .launch(TRIAD_BY_DTYPE(moe_dispatch_fwd_naive)))
TRIAD_KERNEL(moe_dispatch, vec, forward,
             .contract("exact").dtypes(triad::floats).outputs(63).limits(triad::contiguous("x", "choice"), triad::aligned(16, "x", "rows"))
             .limits(triad::whole_packs()).launch(TRIAD_BY_DTYPE(moe_dispatch_fwd_vec)))
TRIAD_KERNEL(moe_dispatch, naive, backward,
             .contract("exact").dtypes(triad::floats).outputs(3).limits(triad::contiguous("choice"))
             .workspace(rows_of_tokens).launch(TRIAD_BY_DTYPE(moe_dispatch_bwd_naive)))
TRIAD_KERNEL(moe_dispatch, vec, backward,
             .contract("exact").dtypes(triad::floats).outputs(3)
             .limits(triad::contiguous("choice", "grad_rows"), triad::aligned(16, "grad_rows", "grad_x")).limits(triad::whole_packs())
             .workspace(rows_of_tokens).launch(TRIAD_BY_DTYPE(moe_dispatch_bwd_vec)))
TRIAD_KERNEL(moe_dispatch, peer_stores, forward,
             .contract("exact").dtypes(triad::floats).outputs(63).devices(2).limits(triad::contiguous(), triad::at_least("ranks", 2))
             .workspace(scratch_fwd_stores).launch(TRIAD_BY_DTYPE(moe_dispatch_fwd_stores)))
TRIAD_KERNEL(moe_dispatch, peer_copies, forward,
             .contract("exact").dtypes(triad::floats).outputs(63).devices(2).limits(triad::contiguous(), triad::at_least("ranks", 2))
             .workspace(scratch_fwd_copies).launch(TRIAD_BY_DTYPE(moe_dispatch_fwd_copies)))
TRIAD_KERNEL(moe_dispatch, peer_stores, backward,
             .contract("exact").dtypes(triad::floats).outputs(3).devices(2).limits(triad::contiguous(), triad::at_least("ranks", 2))
             .workspace(scratch_bwd_stores).launch(TRIAD_BY_DTYPE(moe_dispatch_bwd_stores)))
TRIAD_KERNEL(moe_dispatch, peer_copies, backward,
             .contract("exact").dtypes(triad::floats).outputs(3).devices(2).limits(triad::contiguous(), triad::at_least("ranks", 2))
             .workspace(scratch_bwd_copies).launch(TRIAD_BY_DTYPE(moe_dispatch_bwd_copies)))
