// nsa_compressed: o[b,t,h] = softmax_c(scale * q[b,t,h] . k[b,c]) v[b,c], lse[b,t,h] = ln sum_c exp(scale * q[b,t,h] . k[b,c]), over the blocks
//                 c < floor((t + 1) / block_size), which have ended by token t
// backward, with P = exp(scale * q . k - lse), delta = sum(grad_o * o), dS = P * (grad_o . v - delta):
//                 grad_q = scale * dS k, grad_k = scale * dS^T q, grad_v = P^T grad_o
// Layout   q [B, T, H, D], k [B, C, Hkv, D], v [B, C, Hkv, Dv] in fp32, fp16 or bf16: one key and one value, means, for each of the C = ceil(T /
//          block_size) blocks; o, grad_o [B, T, H, Dv]; lse [B, T, H] fp32, natural. Head h has key head h * Hkv / H. B and T may be 0.
// Numerics scores, weights and sums in fp32. A query that sees no block gives 0 and empty_lse, and has no gradient; a block that a query does not see,
//          as the last one where it is not whole, is neither read for it nor multiplied by 0.
// Limits   D and Dv at most 256; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Yuan et al. 2025, arXiv:2502.11089; fla-org, flash-linear-attention, fla/ops/nsa; online softmax: Milakov & Gimelshein 2018, arXiv:1805.02867
//   naive  a block a row of a result, any strides; the readable one, and the one to trust first. Costs: every head
//          reads its keys
//   tiled  16 heads of queries that see the same blocks, keys 16 at a time. Costs: 67 KB of shared memory, few
//          threads at work where blocks and groups are small
//   sm80_mma  fp16 and bf16 on tensor cores, 128 or 64 such heads a block, keys 64 at a time. Costs: a GPU of 8.0, and
//             P and dS rounded to 16 bits
// Pipelines  sparse/compressed.cuh, sparse/compressed_tiled.cuh, sparse/compressed_mma.cuh
#include "sparse/compressed_mma.cuh"
#include "sparse/compressed_tiled.cuh"
#include "spec/nsa_compressed.cuh"

namespace {

namespace kernels = triad::sparse::compressed;

constexpr uint32_t full = triad::bit(TRIAD_F32), halves = triad::bit(TRIAD_F16) | triad::bit(TRIAD_BF16), both = 3, gradients = 7;
const triad::Limits tiles = triad::sparse::tiles_fit<kernels::Shape>();

// Weights stay in fp32 throughout, which meets p16, the contract of 16-bit attention, as well.
TRIAD_KERNEL(nsa_compressed, naive, forward, .contract("fp32").dtypes(full).outputs(both).launch(TRIAD_BY_DTYPE(kernels::forward_naive)))
TRIAD_KERNEL(nsa_compressed, naive, forward, .contract("p16").dtypes(halves).outputs(both).launch(TRIAD_BY_DTYPE(kernels::forward_naive)))
TRIAD_KERNEL(nsa_compressed, tiled, forward, .contract("fp32").dtypes(full).outputs(both).limits(tiles).launch(TRIAD_BY_DTYPE(kernels::forward_tiled)))
TRIAD_KERNEL(nsa_compressed, tiled, forward, .contract("p16").dtypes(halves).outputs(both).limits(tiles).launch(TRIAD_BY_DTYPE(kernels::forward_tiled)))
TRIAD_KERNEL(nsa_compressed, sm80_mma, forward,
             .asynchronous().contract("p16").dtypes(halves).outputs(both).limits(kernels::mma_forward_fits()).launch(TRIAD_BY_HALF(kernels::forward_mma)))

TRIAD_KERNEL(nsa_compressed, naive, backward,
             .contract("fp32").dtypes(full).outputs(gradients).workspace(kernels::delta_bytes).launch(TRIAD_BY_DTYPE(kernels::backward_naive)))
TRIAD_KERNEL(nsa_compressed, naive, backward,
             .contract("p16").dtypes(halves).outputs(gradients).workspace(kernels::delta_bytes).launch(TRIAD_BY_DTYPE(kernels::backward_naive)))
TRIAD_KERNEL(nsa_compressed, tiled, backward,
             .contract("fp32").dtypes(full).outputs(gradients).limits(tiles).workspace(kernels::delta_bytes)
             .launch(TRIAD_BY_DTYPE(kernels::backward_tiled)))
TRIAD_KERNEL(nsa_compressed, tiled, backward,
             .contract("p16").dtypes(halves).outputs(gradients).limits(tiles).workspace(kernels::delta_bytes)
             .launch(TRIAD_BY_DTYPE(kernels::backward_tiled)))
TRIAD_KERNEL(nsa_compressed, sm80_mma, backward,
             .asynchronous().contract("p16").dtypes(halves).outputs(gradients).limits(kernels::mma_backward_fits()).workspace(kernels::mma_bytes)
             .launch(TRIAD_BY_HALF(kernels::backward_mma)))

} // namespace
