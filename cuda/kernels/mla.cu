// mla: o[b,i,h] = softmax_j(scale * q[b,i,h] . c_j) v_j, lse[b,h,i] = ln sum_j exp(scale * q[b,i,h] . c_j); c_j = kv[b,j] is the latent row that all
//      heads share, v_j its first Dv elements
// backward, with P = exp(scale * q . c - lse), delta = sum(grad_o * o), dS = P * (grad_o . v - delta):
//      grad_q = scale * dS c, grad_kv = scale * dS^T q, plus P^T grad_o in the columns of v, over queries and heads, rounded once
// Layout   q [B, Sq, H, D] and kv [B, Sk, D] in fp32, fp16 or bf16; o, grad_o [B, Sq, H, Dv]; lse [B, H, Sq] fp32, natural. Causal: key j is visible
//          to query i iff j <= i + Sk - Sq. A query that sees no key gives 0 and -inf, and has no gradient. B, Sq, Sk may be 0.
// Numerics scores, weights and sums in fp32
// Limits   D at most 1024; a call outside a variant's own limit answers UNSUPPORTED.
// Source   DeepSeek-AI 2024, arXiv:2405.04434; online softmax: Milakov & Gimelshein 2018, arXiv:1805.02867; gradients: Dao et al. 2022,
//          arXiv:2205.14135
//   naive     a block a row of a result, any strides; the readable one, and the one to trust first. Costs: every
//             head reads all keys
//   tiled     16 rows and 16 keys a block (8 in the backward): a latent row is read once for 16 heads. Costs: 89
//             KB of shared memory
//   sm90_tma  64 rows or keys a block on Hopper's tensor cores, tiles by TMA, 16 bits. Costs: 227 KB of shared
//             memory, P and dS in 16 bits, two of five products of the backward twice
// Pipelines  latent/whole_naive.cuh, latent/whole_tiled.cuh, mla/sm90_forward.cuh, mla/sm90_backward.cuh
#include "capability.cuh"
#include "latent/whole_tiled.cuh"
#include "mla/sm90_backward.cuh"
#include "mla/sm90_forward.cuh"
#include "spec/mla.cuh"

namespace {

using namespace triad::mla;

// ---- registration -------------------------------------------------------------------------------------------

template <int Bytes> int bytes_of(const Shape &) { return Bytes; }

template <int (*Bytes)(const Shape &)> void check_shared(triad::Check &check, const triad_call *call) {
	const int most = triad::device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), needed = Bytes(Shape(call));
	check.that(most >= needed, "a block needs %d bytes of shared memory, this GPU gives %d", needed, most);
}

// tiles: latent rows that shared memory and the columns of a thread can hold.
template <int (*Bytes)(const Shape &)> triad::Limits tiles() {
	return {triad::limit("head_dim at most 576, head_dim_v at most 512", [](triad::Check &check, const triad_call *call) {
		        const Shape s(call);
		        check.that(s.dim <= tiled_dim && s.dim_v <= tiled_dim_v, "head_dim is %d and head_dim_v %d", s.dim, s.dim_v);
	        }),
	        triad::limit("as much shared memory as its tiles take", check_shared<Bytes>)};
}

// wide: what the copy engine and the tiles of Hopper's tensor cores ask.
template <int Bytes> triad::Limits wide() {
	return {triad::multiple_of("head_dim", 8), triad::wgmma_capability(),
	        triad::limit("head_dim_v 512 and head_dim at most 576, or 64 and 128", [](triad::Check &check, const triad_call *call) {
		        const Shape s(call);
		        check.that(Large::holds(s.dim, s.dim_v) || Small::holds(s.dim, s.dim_v), "head_dim is %d and head_dim_v %d", s.dim, s.dim_v);
	        }),
	        triad::limit("as much shared memory as its tiles take", check_shared<bytes_of<Bytes>>)};
}

constexpr uint32_t full = triad::bit(TRIAD_F32), halves = triad::bit(TRIAD_F16) | triad::bit(TRIAD_BF16), both = 3;

// Weights stay in fp32 throughout, which meets p16, the contract of 16-bit attention, as well.
TRIAD_KERNEL(mla, naive, forward, .contract("fp32").dtypes(full).outputs(both).launch(TRIAD_BY_DTYPE(forward_naive)))
TRIAD_KERNEL(mla, naive, forward, .contract("p16").dtypes(halves).outputs(both).launch(TRIAD_BY_DTYPE(forward_naive)))
TRIAD_KERNEL(mla, tiled, forward,
             .contract("fp32").dtypes(full).outputs(both).limits(tiles<forward_bytes>()).launch(TRIAD_BY_DTYPE(forward_tiled)))
TRIAD_KERNEL(mla, tiled, forward,
             .contract("p16").dtypes(halves).outputs(both).limits(tiles<forward_bytes>()).launch(TRIAD_BY_DTYPE(forward_tiled)))

TRIAD_KERNEL(mla, naive, backward,
             .contract("fp32").dtypes(full).outputs(both).limits({triad::contiguous("lse")})
             .workspace(delta_bytes).launch(TRIAD_BY_DTYPE(backward_naive)))
TRIAD_KERNEL(mla, naive, backward,
             .contract("p16").dtypes(halves).outputs(both).limits({triad::contiguous("lse")})
             .workspace(delta_bytes).launch(TRIAD_BY_DTYPE(backward_naive)))
TRIAD_KERNEL(mla, tiled, backward,
             .contract("fp32").dtypes(full).outputs(both).limits({triad::contiguous("lse")}).limits(tiles<backward_bytes>())
             .workspace(delta_bytes).launch(TRIAD_BY_DTYPE(backward_tiled)))
TRIAD_KERNEL(mla, tiled, backward,
             .contract("p16").dtypes(halves).outputs(both).limits({triad::contiguous("lse")}).limits(tiles<backward_bytes>())
             .workspace(delta_bytes).launch(TRIAD_BY_DTYPE(backward_tiled)))

TRIAD_KERNEL(mla, sm90_tma, forward,
             .asynchronous().contract("p16").dtypes(halves).outputs(both)
             .limits({triad::contiguous("q", "kv"), triad::aligned(16, "q", "kv", "o")})
             .limits(wide<ForwardPlan<Large>::bytes>()).launch(TRIAD_BY_HALF(forward_tma)))
TRIAD_KERNEL(mla, sm90_tma, backward,
             .asynchronous().contract("p16").dtypes(halves).outputs(both)
             .limits({triad::contiguous(), triad::aligned(16, "q", "kv", "o", "grad_o", "grad_q", "grad_kv")})
             .limits(wide<std::max(BackwardPlan<Large, false>::bytes, BackwardPlan<Large, true>::bytes)>())
             .workspace(tma_workspace).launch(TRIAD_BY_HALF(backward_tma)))

} // namespace
