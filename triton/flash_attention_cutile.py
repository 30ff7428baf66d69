"""flash_attention in cuTile: o = softmax(scale * q k^T) v, row by row, with lse = log sum_j exp(scale * q
k^T)

Layout, causal order, limits and contract are those of flash_attention.py: fp32 products are IEEE fp32, in 16
bits P is multiplied in the dtype (contract p16). Forward alone.
  cutile/tiled  a tile of queries per block, keys in steps: first those that all queries see, then the edge
"""

import torch

from cutile import by_tma, ct, launch
from implementation import Implementation, ceildiv, next_power_of_2

TWOS = 1.4426950408889634  # an exponent of e times this is one of two
INF = float("inf")


def _steps(acc, l, m, q, i, k, v, batch, head, begin, end, shift, scale, CAUSAL, EDGE, N, D, DV):
    """The keys of the tiles from begin to end: acc = sum p v, l = sum p and m, the largest score, in powers
    of two. Without EDGE every query sees all of them, and nothing is masked."""
    for step in range(begin, end):
        kt = ct.load(k, (batch, head, 0, step), (1, 1, D, N), order=(0, 1, 3, 2),
                     padding_mode=ct.PaddingMode.ZERO).reshape((D, N))
        s = ct.mma(q, kt, ct.zeros((q.shape[0], N), dtype=ct.float32)) * scale
        if EDGE:
            j = (step * N + ct.arange(N, dtype=ct.int32)).reshape((1, N))
            visible = j < k.shape[2]
            if CAUSAL:
                visible = visible & (j <= i + shift)
            s = ct.where(visible, s, -INF)
        m_new = ct.maximum(m, ct.max(s, 1, keepdims=True, propagate_nan=True), propagate_nan=True)
        base = ct.where(m_new == -INF, 0.0, m_new)  # a row that has seen no key yet has nothing to rescale
        p = ct.exp2(s - base)
        rescale = ct.exp2(m - base)
        l = l * rescale + ct.sum(p, 1, keepdims=True)
        values = ct.load(v, (batch, head, step, 0), (1, 1, N, DV),
                         padding_mode=ct.PaddingMode.ZERO).reshape((N, DV))
        acc = ct.mma(p.astype(v.dtype), values, acc * rescale)
        m = m_new
    return acc, l, m


@ct.kernel
def _attention_fwd(q, k, v, o, lse, scale, CAUSAL: ct.Constant[bool], M: ct.Constant[int],
                   N: ct.Constant[int], D: ct.Constant[int], DV: ct.Constant[int], TMA: ct.Constant[bool]):
    """o and lse of M queries of one head. Blocks with many keys come first."""
    tiles = ct.cdiv(q.shape[2], M)
    tile = tiles - 1 - ct.bid(0) % tiles
    heads = q.shape[1]
    batch = ct.bid(0) // tiles // heads
    head = ct.bid(0) // tiles % heads
    head_kv = head // (heads // k.shape[1])
    queries = ct.load(q, (batch, head, tile, 0), (1, 1, M, D),
                      padding_mode=ct.PaddingMode.ZERO).reshape((M, D))
    i = (tile * M + ct.arange(M, dtype=ct.int32)).reshape((M, 1))
    shift = k.shape[2] - q.shape[2]
    end = ct.cdiv(k.shape[2], N)
    all_see = k.shape[2] // N
    if CAUSAL:
        end = min(end, ct.cdiv(max((tile + 1) * M + shift, 0), N))
        all_see = min(all_see, max(tile * M + shift + 1, 0) // N)
    acc = ct.zeros((M, DV), dtype=ct.float32)
    l = ct.zeros((M, 1), dtype=ct.float32)
    m = ct.full((M, 1), -INF, ct.float32)
    acc, l, m = _steps(acc, l, m, queries, i, k, v, batch, head_kv, 0, all_see, shift, scale, CAUSAL, False,
                       N, D, DV)
    acc, l, m = _steps(acc, l, m, queries, i, k, v, batch, head_kv, all_see, end, shift, scale, CAUSAL, True,
                       N, D, DV)
    sees = i + shift >= 0 if CAUSAL else i >= 0
    out = ct.where(sees, acc / l, 0.0)
    ct.store(o, (batch, head, tile, 0), out.astype(o.dtype).reshape((1, 1, M, DV)), allow_tma=TMA)
    total = ct.where(sees, (m + ct.log2(l)) / TWOS, -INF)
    ct.store(lse, (batch, head, tile), total.reshape((1, 1, M)), allow_tma=False)


def _sides(x: torch.Tensor, width: int) -> tuple[int, int]:
    """Queries and keys of a tile with rows of so many elements."""
    if x.element_size() == 4:
        return (32, 32) if width > 64 else (64, 32)
    return (64, 64) if width > 128 else (64, 128)


def forward(q, k, v, *, causal, scale):
    """q [batch, heads_q, seq_q, head_dim], k, v -> o [batch, heads_q, seq_q, head_dim_v], lse [batch,
    heads_q, seq_q] fp32."""
    batch, heads, seq_q, head_dim = q.shape
    head_dim_v = v.shape[3]
    o = torch.empty((batch, heads, seq_q, head_dim_v), dtype=q.dtype, device=q.device)
    lse = torch.empty((batch, heads, seq_q), dtype=torch.float32, device=q.device)
    if not k.shape[2]:  # an array without an element has no address
        return o.zero_(), lse.fill_(-INF)
    if o.numel():
        d, dv = (max(16, next_power_of_2(x)) for x in (head_dim, head_dim_v))
        rows, keys = _sides(q, max(d, dv))
        launch(_attention_fwd, batch * heads * ceildiv(seq_q, rows), q, k, v, o, lse, scale * TWOS, causal,
               rows, keys, d, dv, by_tma(o))
    return o, lse


IMPLEMENTATIONS = [
    Implementation("cutile/tiled", forward, outputs=("o", "lse"), module="cuda.tile",
                   contract={("forward", "fp16"): "p16", ("forward", "bf16"): "p16"}),
]
