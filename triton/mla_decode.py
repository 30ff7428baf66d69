"""mla_decode: o[b,i,h] = softmax_j(scale * q[b,i,h] . c_j) v_j and lse[b,h,i] = ln sum_j exp(scale * q . c_j)
over the visible tokens j of sequence b: c_j = cache[block_table[b, j // 64], j % 64] is the latent row that
all heads share, v_j its first head_dim_v elements

Layout   q [batch, seq_q, heads, head_dim], cache [blocks, 64, head_dim], any strides; block_table
         [batch, pages] and lengths [batch] int32; o [batch, seq_q, heads, head_dim_v] and lse
         [batch, heads, seq_q] fp32 contiguous. fp32 (products in IEEE fp32), fp16, bf16 (P is multiplied in
         the dtype: contract p16); every other value inside is fp32.
Visible  is token j < lengths[b], and causal j <= i + lengths[b] - seq_q. What lies past a length is not read.
         A query that sees nothing has o = 0 and lse = empty_lse.
Limits   triton: head_dim_v and the rest of head_dim multiples of 16, at most 576 in all
Source   DeepSeek-AI 2024, arXiv:2405.04434; FlashMLA, flash_mla_with_kvcache
  triton/split   a program takes some heads and a part of a sequence; a second kernel joins the parts of a row
  torch/eager    rows gathered to [batch, tokens, head_dim], two products
  flashmla/kernel  FlashMLA's dense decoding, with a schedule for each call
  torch/compile  torch/eager through Inductor
"""

import math

import torch

import flash_mla_dense
from implementation import (
    INTERPRETED,
    Implementation,
    beside_peers,
    ceildiv,
    compile_for,
    next_power_of_2,
    sixteen_bit,
    tl,
    too_old,
    triton,
)

DIFFERENTIABLE = ()  # of the inputs of reference: decoding has no backward
PAGE = 64


@triton.jit
def _visible(lengths_ptr, b, i, seq_q, CAUSAL: tl.constexpr):
    """How many tokens query i of a sequence sees."""
    keys = tl.load(lengths_ptr + b)
    if CAUSAL:
        keys = tl.maximum(tl.minimum(keys, (i + 1).to(tl.int32) + keys - seq_q), 0)
    return keys


@triton.jit
def _mla_decode_split_kernel(q_ptr, cache_ptr, table_ptr, lengths_ptr, sum_ptr, max_ptr, total_ptr, seq_q,
                             heads, head_dim, head_dim_v, pages, scale, q_b, q_s, q_h, q_d, c_b, c_s, c_d,
                             CAUSAL: tl.constexpr, REST: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                             DV: tl.constexpr, DR: tl.constexpr):
    """The sums of M heads over a part of the tokens of one query, before they are divided: sum [row, part,
    head_dim_v], with the largest score in powers of two and the total of weights, [row, part]. REST: a row
    has elements that are no values."""
    query, part = tl.program_id(0).to(tl.int64), tl.program_id(2)
    b, i = query // seq_q, query % seq_q
    h = tl.program_id(1) * M + tl.arange(0, M)
    keys = _visible(lengths_ptr, b, i, seq_q, CAUSAL)
    each = tl.cdiv(tl.cdiv(keys, 64), tl.num_programs(2)) * 64
    begin = part * each
    end = tl.minimum(begin + each, keys)
    v, rest = tl.arange(0, DV), head_dim_v + tl.arange(0, DR)
    at = q_ptr + b * q_b + i * q_s + h[:, None].to(tl.int64) * q_h
    q_v = tl.load(at + v[None, :] * q_d, mask=(h < heads)[:, None] & (v < head_dim_v)[None, :], other=0.0)
    if REST:
        q_rest = tl.load(at + rest[None, :] * q_d, mask=(h < heads)[:, None] & (rest < head_dim)[None, :],
                         other=0.0)
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, DV], tl.float32)
    for start in range(begin, end, N):
        j = start + tl.arange(0, N)
        inside = j < end
        block = tl.load(table_ptr + b * pages + j // 64, mask=inside, other=0).to(tl.int64)
        row = cache_ptr + (block * c_b + (j % 64) * c_s)[:, None]
        c_v = tl.load(row + v[None, :] * c_d, mask=inside[:, None] & (v < head_dim_v)[None, :], other=0.0)
        s = tl.dot(q_v, tl.trans(c_v), input_precision="ieee")
        if REST:
            c_rest = tl.load(row + rest[None, :] * c_d, mask=inside[:, None] & (rest < head_dim)[None, :],
                             other=0.0)
            s = tl.dot(q_rest, tl.trans(c_rest), s, input_precision="ieee")
        s = tl.where(inside[None, :], s * scale, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        base = tl.where(m_new == float("-inf"), 0.0, m_new)  # -inf - -inf would be NaN
        p = tl.exp2(s - base[:, None])
        decay = tl.exp2(m - base)
        l = l * decay + tl.sum(p, axis=1)
        acc = tl.dot(p.to(c_v.dtype), c_v, acc * decay[:, None], input_precision="ieee")
        m = m_new
    if begin < end:
        to = (query * heads + h) * tl.num_programs(2) + part
        tl.store(sum_ptr + to[:, None] * head_dim_v + v[None, :], acc,
                 mask=(h < heads)[:, None] & (v < head_dim_v)[None, :])
        tl.store(max_ptr + to, m, mask=h < heads)
        tl.store(total_ptr + to, l, mask=h < heads)


@triton.jit
def _mla_decode_join_kernel(sum_ptr, max_ptr, total_ptr, lengths_ptr, o_ptr, lse_ptr, parts, seq_q, heads,
                            head_dim_v, empty, CAUSAL: tl.constexpr, DV: tl.constexpr):
    """A row of o: its parts, weighted by the distance of their maxima to the largest."""
    row = tl.program_id(0).to(tl.int64)
    query, h = row // heads, row % heads
    b, i = query // seq_q, query % seq_q
    keys = _visible(lengths_ptr, b, i, seq_q, CAUSAL)
    each = tl.cdiv(tl.cdiv(keys, 64), parts) * 64
    used = tl.cdiv(keys, tl.maximum(each, 1))
    v = tl.arange(0, DV)
    m, l = float("-inf"), 0.0
    acc = tl.zeros([DV], tl.float32)
    for part in range(0, used):
        at = row * parts + part
        more = tl.load(max_ptr + at)
        m_new = tl.maximum(m, more)
        base = tl.where(m_new == float("-inf"), 0.0, m_new)
        decay, weight = tl.exp2(m - base), tl.exp2(more - base)
        l = l * decay + tl.load(total_ptr + at) * weight
        acc = acc * decay + tl.load(sum_ptr + at * head_dim_v + v, mask=v < head_dim_v, other=0.0) * weight
        m = m_new
    o = tl.where(keys > 0, acc / l, 0.0)
    # where every score is -inf there is no mean
    lse = tl.where(m == float("-inf"), float("nan"), (m + tl.log2(l)) / 1.4426950408889634)
    tl.store(o_ptr + row * head_dim_v + v, o.to(o_ptr.dtype.element_ty), mask=v < head_dim_v)
    tl.store(lse_ptr + (b * heads + h) * seq_q + i, tl.where(keys > 0, lse, empty))


def _plan(q, heads: int, tokens: int, queries: int) -> tuple[dict[str, int], int]:
    """The tile of a program, heads and tokens, and the number of parts of a sequence."""
    if INTERPRETED:
        return {"M": max(16, next_power_of_2(heads)), "N": 64}, min(2, max(ceildiv(tokens, PAGE), 1))
    tile = {"M": 16, "N": 16} if q.dtype == torch.float32 else {"M": 64 if heads > 32 else 16, "N": 32}
    programs = max(queries * ceildiv(heads, tile["M"]), 1)
    return tile, max(1, min(ceildiv(264, programs), ceildiv(tokens, PAGE), 64))


def forward(q, cache, block_table, lengths, *, causal, scale, empty_lse, least_length, head_dim_v):
    """q [batch, seq_q, heads, head_dim], cache [blocks, 64, head_dim], block_table [batch, pages], lengths
    [batch] -> o [batch, seq_q, heads, head_dim_v], lse [batch, heads, seq_q]."""
    batch, seq_q, heads, head_dim = q.shape
    o = q.new_empty((batch, seq_q, heads, head_dim_v))
    lse = torch.empty((batch, heads, seq_q), dtype=torch.float32, device=q.device)
    if not o.numel():
        return o, lse
    block_table, lengths, pages = block_table.contiguous(), lengths.contiguous(), block_table.shape[1]
    tile, parts = _plan(q, heads, pages * PAGE, batch * seq_q)
    sums = torch.empty((batch * seq_q * heads, parts, head_dim_v), dtype=torch.float32, device=q.device)
    maxima, totals = (torch.empty(sums.shape[:2], dtype=torch.float32, device=q.device) for _ in range(2))
    rest, width = head_dim - head_dim_v, {"DV": max(16, next_power_of_2(head_dim_v))}
    _mla_decode_split_kernel[batch * seq_q, ceildiv(heads, tile["M"]), parts](
        q, cache, block_table, lengths, sums, maxima, totals, seq_q, heads, head_dim, head_dim_v, pages,
        scale * 1.4426950408889634, *q.stride(), *cache.stride(), CAUSAL=causal, REST=rest > 0,
        DR=max(16, next_power_of_2(rest)), num_warps=8, num_stages=2, **tile, **width)
    _mla_decode_join_kernel[(len(sums),)](sums, maxima, totals, lengths, o, lse, parts, seq_q, heads,
                                          head_dim_v, math.inf if empty_lse == "inf" else -math.inf,
                                          CAUSAL=causal, **width)
    return o, lse


def _accepts_split(direction, q, *rest, head_dim_v, **attributes):
    n = q.shape[3]
    if n % 16 or head_dim_v % 16 or n > 576:
        return (f"mla_decode/triton/split: head_dim {n} and head_dim_v {head_dim_v} are not multiples of 16, "
                f"at most 576")
    if n <= 256:
        return None
    return too_old(q.device, "a block, with 200 KB of shared memory for so long rows,", (9, 0), (12, 0))


# ---- torch


def _rows(cache, block_table, lengths):
    """Latent rows in the order of their tokens, 0 past a length, and which are within it: [batch, tokens,
    head_dim], [batch, tokens]."""
    batch, pages = block_table.shape
    j = torch.arange(pages * PAGE, device=cache.device)
    inside = j < lengths[:, None]
    table = torch.where(inside[:, ::PAGE], block_table, 0).long()
    rows = cache[table.flatten()].unflatten(0, (batch, pages)).flatten(1, 2)
    return torch.where(inside[..., None], rows, 0), inside


def _products(x, y):
    """Products of batches of matrices with sums in fp32, or fp64 where x is."""
    if x.is_cuda and x.dtype in (torch.float16, torch.bfloat16):
        return torch.bmm(x, y, out_dtype=torch.float32)
    return x @ y if x.dtype == torch.float64 else x.float() @ y.float()


def reference(q, cache, block_table, lengths, *, causal, scale, empty_lse, least_length, head_dim_v):
    """The formula in torch: o in the dtype of q, and lse."""
    batch, seq_q, heads, _ = q.shape
    c, visible = _rows(cache, block_table, lengths)
    i, j = torch.arange(seq_q, device=q.device)[:, None], torch.arange(c.shape[1], device=q.device)
    visible = visible[:, None, :].expand(-1, seq_q, -1)
    if causal:
        visible = visible & (j <= i + lengths[:, None, None] - seq_q)
    seen = visible.any(2)[:, :, None, None]
    s = _products(q.flatten(1, 2), c.transpose(1, 2)).unflatten(1, (seq_q, heads)) * scale
    s = s.masked_fill(~visible[:, :, None, :], -math.inf)
    m = torch.where(seen, s.amax(3, keepdim=True), 0)
    p = torch.exp(s - m)
    total = torch.where(seen, p.sum(3, keepdim=True), 1)
    o = _products((p / total).to(q.dtype).flatten(1, 2), c[..., :head_dim_v]).unflatten(1, (seq_q, heads))
    lse = torch.where(seen, m + total.log(), math.inf if empty_lse == "inf" else -math.inf)
    return o.to(q.dtype).contiguous(), lse[..., 0].transpose(1, 2).contiguous()


_NAMES = {"outputs": ("o", "lse"), "contract": sixteen_bit("p16")}

IMPLEMENTATIONS = [
    Implementation("triton/split", forward, accepts=_accepts_split,
                   constraint="head_dim and head_dim_v multiples of 16, at most 576; a GPU of capability 9.0 "
                              "or higher, below 12.0", **_NAMES),
    Implementation("torch/eager", reference, **_NAMES),
    Implementation("flashmla/kernel", flash_mla_dense.forward, dtypes=flash_mla_dense.DTYPES,
                   accepts=flash_mla_dense.accepts, constraint=flash_mla_dense.CONSTRAINT,
                   module=flash_mla_dense.MODULE, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(reference), compiled=True, **_NAMES)),
]
