// flash_attention: s[i,j] = scale * q[i].k[j], P = softmax(s) over visible j, o[i] = sum_j P[i,j] v[j], lse[i] = log sum_j exp(s[i,j])
//   backward: dP = grad_o v^T, delta[i] = grad_o[i].o[i], dS = P * (dP - delta), P = exp(s - lse);
//             grad_q = scale dS k, grad_k = scale dS^T q, grad_v = P^T grad_o, the last two summed over the query heads of a group
// Layout   q and its gradient [B, H, Sq, D], o and its [B, H, Sq, Dv]; k and its [B, Hkv, Skv, D], v and its [B, Hkv, Skv, Dv], H a multiple of
//          Hkv; lse [B, H, Sq] fp32. Dv is D unless a caller has values of another size.
//          fp32, fp16, bf16. Inputs may have any strides (lse: contiguous); outputs are contiguous.
// Numerics scores, P, dS and sums in fp32; natural logarithm. Causal is aligned bottom-right: query i sees key j iff j <= i + Skv - Sq.
//          A query that sees no key gives o = 0, lse = -inf and zero gradients. Infinite and NaN scores give what fp64 gives.
// Limits   naive: D and Dv in 1..256; the others: multiples of 8 in 16..256. Sq, Skv or B = 0 are fine.
// Source   Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691; online softmax: Milakov & Gimelshein 2018, arXiv:1805.02867
//   naive         one thread per element; P (backward: and dS) in the workspace; the readable one, and the
//                 one to trust first. Costs: memory for Sq * Skv numbers of each head
//   tiled         forward: a block keeps 64 (32 beyond D = 128) queries, streams keys and values past them
//                 and rescales its sums whenever the running maximum grows. backward: one kernel keeps keys
//                 and values and streams queries past them, another the other way round for grad_q, so every
//                 sum has one owner and a fixed order. Costs: shared memory for the tiles, and in the
//                 backward scores that are computed in both kernels
//   tiled_atomic  backward only: one kernel; what its tile of keys gives to grad_q is added to an fp32 sum by
//                 atomics, in any order. Costs: last bits of grad_q that differ from run to run
//   sm80_mma      fp16 and bf16 on tensor cores, D a multiple of 8 in 8..192, Dv in 8..128; grad_q by
//                 atomics. Costs: a GPU of 8.0, and P rounded to 16 bits
//   sm90_wgmma    the same on Hopper's tensor cores, D up to 128. Costs: a GPU of 9.0
//   sm90_tma      as sm90_wgmma, with a warpgroup that has the copy engine bring the tiles, and add grad_q:
//                 docs/performance.md. D up to 192. Costs: the same, and tensors that the copy engine takes
//   Each variant is in the file of flash_attention/ that has its name.
#include "flash_attention/accepts.cuh"
#include "flash_attention/accepts_tma.cuh"
#include "flash_attention/naive.cuh"
#include "flash_attention/sm80_mma_backward.cuh"
#include "flash_attention/sm80_mma_forward.cuh"
#include "flash_attention/sm90_tma.cuh"
#include "flash_attention/sm90_tma_backward.cuh"
#include "flash_attention/sm90_wgmma.cuh"
#include "flash_attention/tiled_backward.cuh"
#include "flash_attention/tiled_forward.cuh"
#include "register.cuh"
#include "spec/flash_attention.cuh"

namespace {

using namespace triad::attention;
using triad::BackwardCall;
using triad::ForwardCall;

// ---- launchers of the variants for tensor cores, by head_dim

template <class T> int forward_mma(const triad_call *call) {
	const ForwardCall<T> a = triad::forward_call<T>(call);
	const cudaStream_t stream = triad::stream_of(call);
	if (a.shape.widest() <= 64) return triad::mma::launch_forward<T, 64>(a, stream);
	return a.shape.head_dim <= 128 ? triad::mma::launch_forward<T, 128>(a, stream) : triad::mma::launch_forward<T, 192>(a, stream);
}

template <class T> int backward_mma(const triad_call *call) {
	const BackwardCall<T> a = triad::backward_call<T>(call);
	float *workspace = static_cast<float *>(call->workspace);
	const cudaStream_t stream = triad::stream_of(call);
	if (a.shape.widest() <= 64) return triad::mma::launch_backward<T, 64>(a, workspace, stream);
	return a.shape.head_dim <= 128 ? triad::mma::launch_backward<T, 128>(a, workspace, stream) : triad::mma::launch_backward<T, 192>(a, workspace, stream);
}

int64_t workspace_mma(const triad_call *call) { return triad::floats_bytes(triad::mma::backward_floats(triad::shape_of(call))); }

template <class T> int forward_wgmma(const triad_call *call) {
	const ForwardCall<T> a = triad::forward_call<T>(call);
	return a.shape.widest() <= 64 ? triad::wgmma::launch_forward<T, 64>(a, triad::stream_of(call))
	                              : triad::wgmma::launch_forward<T, 128>(a, triad::stream_of(call));
}

template <class T> int forward_tma(const triad_call *call) {
	const ForwardCall<T> a = triad::forward_call<T>(call);
	const cudaStream_t stream = triad::stream_of(call);
	if (a.shape.widest() <= 64) return triad::tma::launch_forward<T, 64>(a, stream);
	return a.shape.head_dim <= 128 ? triad::tma::launch_forward<T, 128>(a, stream) : triad::tma::launch_forward<T, 192>(a, stream);
}

template <class T> int backward_wgmma(const triad_call *call) {
	const BackwardCall<T> a = triad::backward_call<T>(call);
	float *workspace = static_cast<float *>(call->workspace);
	return a.shape.widest() <= 64 ? triad::wgmma::launch_backward<T, 64>(a, workspace, triad::stream_of(call))
	                              : triad::wgmma::launch_backward<T, 128>(a, workspace, triad::stream_of(call));
}

template <class T> int backward_tma(const triad_call *call) {
	const BackwardCall<T> a = triad::backward_call<T>(call);
	float *workspace = static_cast<float *>(call->workspace);
	const cudaStream_t stream = triad::stream_of(call);
	if (a.shape.widest() <= 64) return triad::tma::launch_backward<T, 64>(a, workspace, stream);
	return a.shape.head_dim <= 128 ? triad::tma::launch_backward<T, 128>(a, workspace, stream) : triad::tma::launch_backward<T, 192>(a, workspace, stream);
}

int64_t workspace_tma(const triad_call *call) { return triad::floats_bytes(triad::tma::backward_floats(triad::shape_of(call))); }

// ---- registration

// P stays in fp32 throughout, which meets p16, the contract of 16-bit attention, as well.
constexpr uint32_t full = triad::bit(TRIAD_F32), halves = triad::bit(TRIAD_F16) | triad::bit(TRIAD_BF16);
constexpr uint32_t o_and_lse = 3, gradients = 7, grad_q_only = 1;
TRIAD_SPILLS(tma_backward, 60, "sums of 192 and 128 numbers for a key in the registers of a thread, for sm_90a");
TRIAD_SPILLS(mma_forward, 44, "rows of 192 numbers of q and 128 of o in the registers of a thread, for sm_90a; 8 for sm_80");

TRIAD_KERNEL(flash_attention, naive, forward,
             .contract("fp32").dtypes(full).outputs(o_and_lse).limits(limits::naive())
             .workspace(workspace_scores).launch(TRIAD_BY_DTYPE(forward_naive)))
TRIAD_KERNEL(flash_attention, naive, forward,
             .contract("p16").dtypes(halves).outputs(o_and_lse).limits(limits::naive())
             .workspace(workspace_scores).launch(TRIAD_BY_DTYPE(forward_naive)))
TRIAD_KERNEL(flash_attention, tiled, forward,
             .contract("fp32").dtypes(full).outputs(o_and_lse).limits(limits::tiled())
             .launch(TRIAD_BY_DTYPE(forward_tiled)))
TRIAD_KERNEL(flash_attention, tiled, forward,
             .contract("p16").dtypes(halves).outputs(o_and_lse).limits(limits::tiled())
             .launch(TRIAD_BY_DTYPE(forward_tiled)))
TRIAD_KERNEL(flash_attention, sm80_mma, forward,
             .asynchronous().contract("p16").dtypes(halves).outputs(o_and_lse).limits(limits::mma_forward())
             .launch(TRIAD_BY_HALF(forward_mma)))
TRIAD_KERNEL(flash_attention, sm90_wgmma, forward,
             .asynchronous().contract("p16").dtypes(halves).outputs(o_and_lse).limits(limits::wgmma(limits::mma_forward(128)))
             .launch(TRIAD_BY_HALF(forward_wgmma)))
TRIAD_KERNEL(flash_attention, sm90_tma, forward,
             .asynchronous().contract("p16").dtypes(halves).outputs(o_and_lse).limits(limits::tma_forward())
             .launch(TRIAD_BY_HALF(forward_tma)))
TRIAD_KERNEL(flash_attention, naive, backward,
             .contract("fp32").dtypes(full).outputs(gradients).limits(limits::backward(limits::naive()))
             .workspace(workspace_weights).launch(TRIAD_BY_DTYPE(backward_naive)))
TRIAD_KERNEL(flash_attention, naive, backward,
             .contract("p16").dtypes(halves).outputs(gradients).limits(limits::backward(limits::naive()))
             .workspace(workspace_weights).launch(TRIAD_BY_DTYPE(backward_naive)))
TRIAD_KERNEL(flash_attention, tiled, backward,
             .contract("fp32").dtypes(full).outputs(gradients).limits(limits::backward(limits::tiled()))
             .workspace(workspace_delta).launch(TRIAD_BY_DTYPE(backward_tiled)))
TRIAD_KERNEL(flash_attention, tiled, backward,
             .contract("p16").dtypes(halves).outputs(gradients).limits(limits::backward(limits::tiled()))
             .workspace(workspace_delta).launch(TRIAD_BY_DTYPE(backward_tiled)))
TRIAD_KERNEL(flash_attention, tiled_atomic, backward,
             .contract("fp32").dtypes(full).outputs(gradients).nondeterministic(grad_q_only).forward("tiled").limits(limits::backward(limits::tiled()))
             .workspace(workspace_grad_q).launch(TRIAD_BY_DTYPE(backward_tiled_atomic)))
TRIAD_KERNEL(flash_attention, tiled_atomic, backward,
             .contract("p16").dtypes(halves).outputs(gradients).nondeterministic(grad_q_only).forward("tiled").limits(limits::backward(limits::tiled()))
             .workspace(workspace_grad_q).launch(TRIAD_BY_DTYPE(backward_tiled_atomic)))
TRIAD_KERNEL(flash_attention, sm80_mma, backward,
             .asynchronous().contract("p16").dtypes(halves).outputs(gradients).nondeterministic(grad_q_only).limits(limits::mma_backward())
             .workspace(workspace_mma).launch(TRIAD_BY_HALF(backward_mma)))
TRIAD_KERNEL(flash_attention, sm90_wgmma, backward,
             .asynchronous().contract("p16").dtypes(halves).outputs(gradients).nondeterministic(grad_q_only).limits(limits::wgmma(limits::mma_backward(128)))
             .workspace(workspace_mma).launch(TRIAD_BY_HALF(backward_wgmma)))
TRIAD_KERNEL(flash_attention, sm90_tma, backward,
             .asynchronous().contract("p16").dtypes(halves).outputs(gradients).nondeterministic(grad_q_only).limits(limits::tma_backward())
             .workspace(workspace_tma).launch(TRIAD_BY_HALF(backward_tma)))

} // namespace
