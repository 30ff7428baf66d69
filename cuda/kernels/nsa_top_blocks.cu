// nsa_top_blocks: indices[b,t,h]: the blocks c <= own = floor(t / block_size) with the largest scores, falling, then -1; score = the sum over the heads g
//                 of group h of softmax_c(scale * q[b,t,g] . k[b,c,h]) over blocks that have ended by token t, the largest of forced blocks
// Layout   q [B, T, H, D], k [B, C, Hkv, D] in fp32, fp16 or bf16: one key for each of the C = ceil(T / block_size) blocks; indices [B, T, Hkv, S]
//          int32. Head g belongs to group g * Hkv / H. B and T may be 0.
// Numerics scores, weights and sums in fp32; of equal scores the first block
// Limits   D at most 256; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Yuan et al. 2025, arXiv:2502.11089; fla-org, flash-linear-attention, fla/ops/nsa
//   naive  a block a row of the result, a warp a score, any strides; the readable one, and the one to trust first.
//          Costs: every head reads all keys twice
//   tiled  16 heads and 16 keys in shared memory. Costs: 33 KB of it, few threads at work where few heads share keys
//   sm80_mma  fp16 and bf16 on tensor cores, 128 heads a block, keys 64 at a time. Costs: a GPU of 8.0
// Pipelines  sparse/top_blocks.cuh, sparse/top_blocks_mma.cuh
#include "sparse/top_blocks.cuh"
#include "sparse/top_blocks_mma.cuh"
#include "spec/nsa_top_blocks.cuh"

namespace {

const triad::Limits tiles = triad::sparse::tiles_fit<triad::sparse::top::Shape>();

TRIAD_KERNEL(nsa_top_blocks, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(triad::sparse::top::score_bytes)
             .launch(TRIAD_BY_DTYPE(triad::sparse::top::run_naive)))
TRIAD_KERNEL(nsa_top_blocks, tiled, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(tiles).workspace(triad::sparse::top::score_bytes)
             .launch(TRIAD_BY_DTYPE(triad::sparse::top::run_tiled)))
TRIAD_KERNEL(nsa_top_blocks, sm80_mma, forward,
             .asynchronous().contract("fp32").dtypes(triad::halves).outputs(1).limits(triad::sparse::top::mma_fits())
             .workspace(triad::sparse::top::score_bytes).launch(TRIAD_BY_HALF(triad::sparse::top::run_mma)))

} // namespace
