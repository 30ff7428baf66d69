// moe_combine: y[r,t] = 0 + the sum of rows[q,i], q rising, over the ranks q that have token t of rank r, i its row there
// backward   grad_rows[q,i] = grad_y of the token in that row, 0 past the rows that rank q has
// Layout   rows, grad_rows: [ranks, ranks * tokens, dim]; choice: [ranks, tokens, top] int64, experts of a rank neighbours, others none; y, grad_y:
//          [ranks, tokens, dim]; fp32, fp16, bf16, added in fp32 and rounded once. Outputs are contiguous. A rank has the tokens that chose one
//          of its experts, each once, by the rank that they come from and then by token.
// Limits   tokens = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Source   DeepSeek-AI 2025, DeepEP, csrc/kernels/intranode.cu: the order of the sum; Lepikhin et al. 2020, arXiv:2006.16668
//   naive   a thread a rank goes through all tokens and notes where each lies, then a thread an element adds up, any strides; the readable
//           one, and the one to trust first. Costs: as many steps one after the other as there are tokens
//   vec     a block a rank counts tokens 512 at a time, then a block a token adds up 16 bytes a thread, with the rows of four ranks under way.
//           Costs: contiguous tensors, dim whole packs
//   peer_stores  the ranks on two GPUs: rows of the other's tokens are stored over there, then added. Costs: memory for each rank and token
//   peer_copies  the same, packed and copied. Costs: all of that memory crosses
#include "element.cuh"
#include "expert_parallel_pair.cuh"
#include "spec/moe_combine.cuh"

namespace {

triad::Routing routing(const triad_call *call) { return {call->in[1], static_cast<int64_t>(call->attr[0])}; }

// One number for each rank and token of all.
int64_t one_each(const triad_call *call) {
	const triad::Routing in = routing(call);
	return in.ranks * in.room() * static_cast<int64_t>(sizeof(int32_t));
}

int32_t *scratch(const triad_call *call) { return static_cast<int32_t *>(call->workspace); }

template <class T> int moe_combine_fwd_naive(const triad_call *call) {
	if (triad::elements(call->out[0]) == 0) return TRIAD_OK;
	triad::find_routes_naive(routing(call), {nullptr, scratch(call), nullptr}, triad::stream_of(call));
	triad::add_rows_naive<T>(call->in[0], scratch(call), call->out[0], triad::stream_of(call));
	return triad::launched();
}

template <class T> int moe_combine_fwd_vec(const triad_call *call) {
	if (triad::elements(call->out[0]) == 0) return TRIAD_OK;
	triad::find_routes(routing(call), {nullptr, scratch(call), nullptr}, triad::stream_of(call));
	triad::add_rows<T>(call->in[0], scratch(call), call->out[0], triad::stream_of(call));
	return triad::launched();
}

template <class T> int moe_combine_bwd_naive(const triad_call *call) {
	if (triad::elements(call->out[0]) == 0) return TRIAD_OK;
	triad::find_routes_naive(routing(call), {scratch(call), nullptr, nullptr}, triad::stream_of(call));
	triad::copy_rows_naive<T>(call->in[0], scratch(call), call->out[0], triad::stream_of(call));
	return triad::launched();
}

template <class T> int moe_combine_bwd_vec(const triad_call *call) {
	if (triad::elements(call->out[0]) == 0) return TRIAD_OK;
	triad::find_routes(routing(call), {scratch(call), nullptr, nullptr}, triad::stream_of(call));
	triad::copy_rows<T>(call->in[0], scratch(call), call->out[0], triad::stream_of(call));
	return triad::launched();
}

constexpr triad::Needs stored = {false, false, true, false}, packed = {false, false, true, true}, whole = {true, false, false, false}, none = {};

template <class T> int moe_combine_fwd_pair(const triad_call *call, bool stores) {
	const triad::Routing in = routing(call);
	const int64_t dim = call->in[0].shape[2];
	const auto sides = triad::sides_of(call->workspace, in, dim * static_cast<int64_t>(sizeof(T)), stores ? stored : packed);
	if (triad::elements(call->out[0]) == 0) return TRIAD_OK;
	triad::DevicePair pair(call);
	triad::share_choice(pair, in, sides, stores);
	triad::route_pair(pair, in, sides, nullptr, nullptr);
	triad::combine_pair<T>(pair, in, {static_cast<const T *>(call->in[0].data), nullptr, static_cast<T *>(call->out[0].data), nullptr, dim}, sides, stores);
	return pair.end();
}

template <class T> int moe_combine_bwd_pair(const triad_call *call, bool stores) {
	const triad::Routing in = routing(call);
	const int64_t dim = call->in[0].shape[2];
	const auto sides = triad::sides_of(call->workspace, in, dim * static_cast<int64_t>(sizeof(T)), stores ? none : whole);
	if (triad::elements(call->out[0]) == 0) return TRIAD_OK;
	const triad::Dispatch<T> d = {static_cast<const T *>(call->in[0].data), nullptr, static_cast<T *>(call->out[0].data), nullptr, nullptr, dim};
	triad::DevicePair pair(call);
	triad::share_choice(pair, in, sides, stores);
	if (!stores) triad::cross_beside(pair, in, d, sides);
	triad::route_pair(pair, in, sides, nullptr, nullptr);
	triad::dispatch_pair(pair, in, d, sides, nullptr, stores);
	return pair.end();
}

template <class T> int moe_combine_fwd_stores(const triad_call *call) { return moe_combine_fwd_pair<T>(call, true); }
template <class T> int moe_combine_fwd_copies(const triad_call *call) { return moe_combine_fwd_pair<T>(call, false); }
template <class T> int moe_combine_bwd_stores(const triad_call *call) { return moe_combine_bwd_pair<T>(call, true); }
template <class T> int moe_combine_bwd_copies(const triad_call *call) { return moe_combine_bwd_pair<T>(call, false); }

// The scratch memory of both devices. The first input's rows are as long as the output's.
int64_t both(const triad_call *call, triad::Needs needs) {
	return 2 * triad::side_bytes(routing(call), call->in[0].shape[2] * triad::element_bytes(call->in[0].dtype), needs);
}
int64_t scratch_fwd_stores(const triad_call *call) { return both(call, stored); }
int64_t scratch_fwd_copies(const triad_call *call) { return both(call, packed); }
int64_t scratch_bwd_stores(const triad_call *call) { return both(call, none); }
int64_t scratch_bwd_copies(const triad_call *call) { return both(call, whole); }

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(moe_combine, naive, forward,
             .contract("exact").dtypes(triad::floats).outputs(1).limits(triad::contiguous("choice"))
             .workspace(one_each).launch(TRIAD_BY_DTYPE(moe_combine_fwd_naive)))
TRIAD_KERNEL(moe_combine, vec, forward,
             .contract("exact").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors()).limits(triad::whole_packs())
             .workspace(one_each).launch(TRIAD_BY_DTYPE(moe_combine_fwd_vec)))
TRIAD_KERNEL(moe_combine, naive, backward,
             .contract("exact").dtypes(triad::floats).outputs(1).limits(triad::contiguous("choice"))
             .workspace(one_each).launch(TRIAD_BY_DTYPE(moe_combine_bwd_naive)))
TRIAD_KERNEL(moe_combine, vec, backward,
             .contract("exact").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors()).limits(triad::whole_packs())
             .workspace(one_each).launch(TRIAD_BY_DTYPE(moe_combine_bwd_vec)))
TRIAD_KERNEL(moe_combine, peer_stores, forward,
             .contract("exact").dtypes(triad::floats).outputs(1).devices(2).limits(triad::contiguous(), triad::at_least("ranks", 2))
             .workspace(scratch_fwd_stores).launch(TRIAD_BY_DTYPE(moe_combine_fwd_stores)))
TRIAD_KERNEL(moe_combine, peer_copies, forward,
             .contract("exact").dtypes(triad::floats).outputs(1).devices(2).limits(triad::contiguous(), triad::at_least("ranks", 2))
             .workspace(scratch_fwd_copies).launch(TRIAD_BY_DTYPE(moe_combine_fwd_copies)))
TRIAD_KERNEL(moe_combine, peer_stores, backward,
             .contract("exact").dtypes(triad::floats).outputs(1).devices(2).limits(triad::contiguous(), triad::at_least("ranks", 2))
             .workspace(scratch_bwd_stores).launch(TRIAD_BY_DTYPE(moe_combine_bwd_stores)))
TRIAD_KERNEL(moe_combine, peer_copies, backward,
             .contract("exact").dtypes(triad::floats).outputs(1).devices(2).limits(triad::contiguous(), triad::at_least("ranks", 2))
             .workspace(scratch_bwd_copies).launch(TRIAD_BY_DTYPE(moe_combine_bwd_copies)))
