"""nsa_top_blocks: of a query the blocks c <= own = t // block_size with the largest scores, falling, then -1;
score = the mean over the heads of a group of softmax(scale * q k^T) over the blocks that have ended by its
token t, 1 of forced blocks: own, with first_own_previous also 0 and own - 1

Layout   q [batch, seq, heads, head_dim], k [batch, ceildiv(seq, block_size), heads_kv, head_dim], any
         strides; indices [batch, seq, heads_kv, selected] int32, contiguous. fp32 (products in IEEE fp32),
         fp16, bf16; every other value is fp32. batch and seq may be 0.
Limits   triton: head_dim at most 256; a group of at most 64 heads
Source   Yuan et al. 2025, arXiv:2502.11089; fla-org, flash-linear-attention, ops/nsa/naive.py
  triton/tiled   the heads of a query that share keys are the rows of a tile; scores are kept in memory
  torch/eager    a product and a softmax in fp32, then topk
  torch/compile  the same through Inductor
"""

import math

import torch

from implementation import (
    INTERPRETED,
    Implementation,
    beside_peers,
    ceildiv,
    compile_for,
    next_power_of_2,
    tl,
    triton,
)

DIFFERENTIABLE = ()  # of the inputs of reference


@triton.jit
def _scores(q, k_at, start, end, k_s, k_d, n, scale, N: tl.constexpr, D: tl.constexpr):
    """The scores of rows of q and the blocks from start on, N, of which those before end are there."""
    c, d = start + tl.arange(0, N), tl.arange(0, D)
    k = tl.load(k_at + c.to(tl.int64)[:, None] * k_s + d[None, :] * k_d,
                mask=(c < end)[:, None] & (d < n)[None, :], other=0.0)
    return tl.dot(q, tl.trans(k), input_precision="ieee") * scale, c


@triton.jit
def _nsa_top_blocks_kernel(q_ptr, k_ptr, score_ptr, to_ptr, seq, heads, heads_kv, n, blocks, selected, size,
                           scale, q_b, q_s, q_h, q_d, k_b, k_s, k_h, k_d, NEAR: tl.constexpr,
                           T: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
                           C: tl.constexpr):
    """The rows of indices of T queries and a key head: the scores of their blocks, N at a time, of the M
    heads of the group, to memory; then the best of C again and again. scale counts powers of two."""
    b, hk, group = (tl.program_id(1) // heads_kv).to(tl.int64), tl.program_id(1) % heads_kv, heads // heads_kv
    first, d = tl.program_id(0) * T, tl.arange(0, D)
    r = tl.arange(0, T * M)
    t, h = first + r // M, r % M
    inside, seen = (t < seq) & (h < group), (t + 1) // size
    q = tl.load(q_ptr + b * q_b + t.to(tl.int64)[:, None] * q_s + (hk * group + h)[:, None] * q_h
                + d[None, :] * q_d, mask=inside[:, None] & (d < n)[None, :], other=0.0)
    k_at, end = k_ptr + b * k_b + hk * k_h, tl.minimum(first + T, seq) // size
    m, l = tl.full([T * M], float("-inf"), tl.float32), tl.zeros([T * M], tl.float32)
    for start in range(0, end, N):
        s, c = _scores(q, k_at, start, end, k_s, k_d, n, scale, N, D)
        s = tl.where(c[None, :] < seen[:, None], s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        base = tl.where(m_new == float("-inf"), 0.0, m_new)  # -inf - -inf would be NaN
        l = l * tl.exp2(m - base) + tl.sum(tl.exp2(s - base[:, None]), axis=1)
        m = m_new
    query = first + tl.arange(0, T)
    own, row = query // size, ((b * seq + query) * heads_kv + hk)[:, None]
    for start in range(0, tl.cdiv(tl.minimum(first + T, seq), size), N):
        s, c = _scores(q, k_at, start, end, k_s, k_d, n, scale, N, D)
        there = (c[None, :] < seen[:, None]) & inside[:, None]
        p = tl.where(there, tl.exp2(s - m[:, None]) / l[:, None], 0.0)
        score = tl.sum(tl.reshape(p, (T, M, N)), axis=1)
        forced = c[None, :] == own[:, None]
        if NEAR:
            forced = forced | (c == 0)[None, :] | (c[None, :] == own[:, None] - 1)
        tl.store(score_ptr + row * blocks + c[None, :], tl.where(forced, float("inf"), score),
                 mask=(c < blocks)[None, :] & (query < seq)[:, None])
    tl.debug_barrier()
    at = tl.arange(0, C)[None, :]
    allowed = (at <= own[:, None]) & (query < seq)[:, None]
    score = tl.load(score_ptr + row * blocks + at, mask=allowed, other=-1.0)
    to = to_ptr + ((b * seq + query) * heads_kv + hk) * selected
    for place in range(selected):
        best = tl.argmax(score, axis=1)
        tl.store(to + place, tl.where(place <= own, best, -1), mask=query < seq)
        score = tl.where(at == best[:, None], -1.0, score)


def forward(q, k, *, block_size, scale, forced, selected):
    """q [batch, seq, heads, head_dim], k [batch, ceildiv(seq, block_size), heads_kv, head_dim] -> indices
    [batch, seq, heads_kv, selected] int32."""
    (batch, seq, heads, n), (blocks, heads_kv) = q.shape, k.shape[1:3]
    indices = torch.empty((batch, seq, heads_kv, selected), dtype=torch.int32, device=q.device)
    if indices.numel():
        score = torch.empty((batch * seq * heads_kv, blocks), dtype=torch.float32, device=q.device)
        heads_each, queries = max(16, next_power_of_2(heads // heads_kv)), 1
        if INTERPRETED:  # few programs are fast
            queries = max(1, min(64, next_power_of_2(seq), 4096 // heads_each))
        _nsa_top_blocks_kernel[ceildiv(seq, queries), batch * heads_kv](
            q, k, score, indices, seq, heads, heads_kv, n, blocks, selected, min(block_size, seq + 1),
            scale * 1.4426950408889634, *q.stride(), *k.stride(), NEAR=forced == "first_own_previous",
            T=queries, M=heads_each, N=max(16, min(64 if INTERPRETED else 32, next_power_of_2(blocks))),
            D=max(16, next_power_of_2(n)), C=next_power_of_2(blocks), num_warps=4, num_stages=1)
    return indices


def _accepts_tiled(direction, q, k, **attributes):
    group, blocks = q.shape[2] // k.shape[2], k.shape[1]
    if group > 64 or blocks > 4096:
        return (f"nsa_top_blocks/triton/tiled: {group} heads share a key, more than 64, or there are "
                f"{blocks} blocks, more than 4096")
    return None


# ---- torch


def reference(q, k, *, block_size, scale, forced, selected):
    """The formula in torch: indices, of equal scores any."""
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    (batch, seq, heads, _), (blocks, heads_kv) = q.shape, k.shape[1:3]
    indices = torch.full((batch, seq, heads_kv, selected), -1, dtype=torch.int32, device=q.device)
    if not indices.numel():
        return indices
    rows = q.to(wide).unflatten(2, (heads_kv, heads // heads_kv))
    s = torch.einsum("bthgd,bchd->bthgc", rows, k.to(wide)) * scale
    t, c = (torch.arange(x, device=q.device) for x in (seq, blocks))
    sees = ((c + 1) * block_size - 1 <= t[:, None])[:, None, None, :]
    p = torch.softmax(s.masked_fill(~sees, -math.inf), 4)
    score = torch.where(sees, p, 0).mean(3)
    own = (t // block_size)[:, None]
    fixed = (c == own) | (c == 0) & (c < own) | (c == own - 1) if forced == "first_own_previous" else c == own
    score = torch.where(fixed[:, None], 1, score).masked_fill((c > own)[:, None], -1)
    best = score.topk(min(selected, blocks), 3)
    indices[..., :best.indices.shape[3]] = torch.where(best.values < 0, -1, best.indices)
    return indices


IMPLEMENTATIONS = [
    Implementation("triton/tiled", forward, outputs=("indices",), accepts=_accepts_tiled, contract="fp32",
                   constraint="at most 64 heads to a key head, at most 4096 blocks"),
    Implementation("torch/eager", reference, outputs=("indices",), contract="fp32"),
    *beside_peers(Implementation("torch/compile", compile_for(reference), compiled=True, outputs=("indices",),
                                 contract="fp32")),
]
