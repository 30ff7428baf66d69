// nsa_selected: o[b,t,h] = g_slc[b,t,h] * softmax_j(scale * q[b,t,h] . k[b,j]) v[b,j] over the tokens j <= t of the blocks indices[b,t], plus
//               g_swa[b,t,h] * the same over t - window < j <= t
// backward, in each of the two, with P = softmax, delta = sum(grad_o * o), dS = P * (grad_o . v - delta): grad_g = delta,
//               grad_q = scale * g * dS k, grad_k = scale * (g * dS)^T q, grad_v = (g * P)^T grad_o
// Layout   q [B, T, H, D], k [B, T, Hkv, D], v [B, T, Hkv, Dv], gates [B, T, H] in fp32, fp16 or bf16; indices [B, T, Hkv, S] int32: different blocks of
//          block_size tokens in any order, -1 for none; o, grad_o [B, T, H, Dv]. Head h has key head h * Hkv / H. B and T may be 0.
// Numerics scores, weights and sums in fp32. A sum over no key is 0; a key that a query does not see is neither read for it nor multiplied by 0.
// Limits   D and Dv at most 256; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Yuan et al. 2025, arXiv:2502.11089; fla-org, flash-linear-attention, fla/ops/nsa; online softmax: Milakov & Gimelshein 2018, arXiv:1805.02867
//   naive  a block a row of a result, any strides; the readable one, and the one to trust first. Costs: every head
//          reads its keys
//   tiled  16 heads that share keys a block, keys 16 at a time: keys are read once for 16 heads. Costs: 67 KB of
//          shared memory, few of its threads at work where fewer heads share keys
//   sm80_mma  fp16 and bf16 on tensor cores: 16 heads of a token a warp, neighbouring tokens go through the
//             blocks that one of them chose together. Costs: a GPU of 8.0, P and dS rounded to 16 bits
// Pipelines  sparse/selected_naive.cuh, sparse/selected_tiled.cuh, sparse/selected_mma.cuh
#include "sparse/selected_mma.cuh"
#include "sparse/selected_tiled.cuh"
#include "spec/nsa_selected.cuh"

namespace {

const triad::Limits tiles = triad::sparse::tiles_fit<triad::sparse::Shape>();

constexpr uint32_t full = triad::bit(TRIAD_F32), halves = triad::bit(TRIAD_F16) | triad::bit(TRIAD_BF16), gradients = 31;
TRIAD_SPILLS(mma_forward, 232, "two blocks of 256 threads on a multiprocessor, 64 sums a thread, for sm_90a; 92 for sm_80");
TRIAD_SPILLS(tiled_keys, 76, "strides of seven tensors beside the sums of a tile, for sm_80");
TRIAD_SPILLS(naive_queries, 24, "strides of seven tensors, for sm_80");
TRIAD_SPILLS(naive_forward, 16, "strides of six tensors, for sm_80; 8 for sm_90a");

// Weights stay in fp32 throughout, which meets p16, the contract of 16-bit attention, as well.
TRIAD_KERNEL(nsa_selected, naive, forward, .contract("fp32").dtypes(full).outputs(1).launch(TRIAD_BY_DTYPE(triad::sparse::forward_naive)))
TRIAD_KERNEL(nsa_selected, naive, forward, .contract("p16").dtypes(halves).outputs(1).launch(TRIAD_BY_DTYPE(triad::sparse::forward_naive)))
TRIAD_KERNEL(nsa_selected, tiled, forward, .contract("fp32").dtypes(full).outputs(1).limits(tiles).launch(TRIAD_BY_DTYPE(triad::sparse::forward_tiled)))
TRIAD_KERNEL(nsa_selected, tiled, forward, .contract("p16").dtypes(halves).outputs(1).limits(tiles).launch(TRIAD_BY_DTYPE(triad::sparse::forward_tiled)))
TRIAD_KERNEL(nsa_selected, sm80_mma, forward,
             .asynchronous().contract("p16").dtypes(halves).outputs(1).limits(triad::sparse::mma_forward_fits()).launch(TRIAD_BY_HALF(triad::sparse::forward_mma)))

TRIAD_KERNEL(nsa_selected, naive, backward,
             .contract("fp32").dtypes(full).outputs(gradients).workspace(triad::sparse::saved_bytes).launch(TRIAD_BY_DTYPE(triad::sparse::backward_naive)))
TRIAD_KERNEL(nsa_selected, naive, backward,
             .contract("p16").dtypes(halves).outputs(gradients).workspace(triad::sparse::saved_bytes).launch(TRIAD_BY_DTYPE(triad::sparse::backward_naive)))
TRIAD_KERNEL(nsa_selected, tiled, backward,
             .contract("fp32").dtypes(full).outputs(gradients).limits(tiles).workspace(triad::sparse::saved_bytes)
             .launch(TRIAD_BY_DTYPE(triad::sparse::backward_tiled)))
TRIAD_KERNEL(nsa_selected, tiled, backward,
             .contract("p16").dtypes(halves).outputs(gradients).limits(tiles).workspace(triad::sparse::saved_bytes)
             .launch(TRIAD_BY_DTYPE(triad::sparse::backward_tiled)))
TRIAD_KERNEL(nsa_selected, sm80_mma, backward,
             .asynchronous().contract("p16").dtypes(halves).outputs(gradients).limits(triad::sparse::mma_backward_fits()).workspace(triad::sparse::mma_bytes)
             .launch(TRIAD_BY_HALF(triad::sparse::backward_mma)))

} // namespace
