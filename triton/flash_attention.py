"""flash_attention: o = softmax(scale * q k^T) v, row by row, with lse = log sum_j exp(scale * q k^T), natural
backward, with P = exp(scale * q k^T - lse), delta = sum(grad_o * o) and dS = P * (grad_o v^T - delta):
    grad_q = scale * dS k, grad_k = scale * dS^T q, grad_v = P^T grad_o,
    grad_k and grad_v summed over the query heads that share a key head

Layout   q [batch, heads_q, seq_q, head_dim], o [batch, heads_q, seq_q, head_dim_v], k [batch, heads_kv,
         seq_kv, head_dim], v [batch, heads_kv, seq_kv, head_dim_v], lse [batch, heads_q, seq_q] fp32.
         Query head h reads key head h / (heads_q / heads_kv). Inputs with any strides,
         outputs contiguous. fp32 (products in IEEE fp32), fp16, bf16 (P and dS are multiplied in the dtype:
         contract p16); every other value inside is fp32.
Causal   is aligned bottom-right: key j is visible to query i iff j <= i + seq_kv - seq_q. A row that sees no
         key has o = 0, lse = -inf, and all its gradients are 0; where lse = -inf, P = 0.
Limits   triton: head_dim and head_dim_v multiples of 8 in 16..256. batch, seq_q, seq_kv may be 0.
Source   Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691
  triton/tiled    a tile of queries per program, keys in steps; backward: a kernel each over queries and keys
  torch/sdpa      torch.nn.functional.scaled_dot_product_attention, its choice of kernel
  torch/eager     the written composition (contract eager in 16 bits)
  torch/cudnn, torch/flash, torch/efficient   sdpa held to that kernel; these and torch/compile on a GPU only
  fa4/kernel      flash-attn-4's CuTe kernels, 16 bits; head_dim a multiple of 8
"""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend

import library_attention as library
from implementation import (
    INTERPRETED,
    Implementation,
    capability,
    ceildiv,
    compile_for,
    differentiable_row,
    next_power_of_2,
    rounded,
    sixteen_bit,
    tl,
    too_old,
    triton,
)
from library_attention import blind_queries, visible

DIFFERENTIABLE = (0, 1, 2)  # of the inputs of reference


@triton.jit
def _in_twos(x):
    """x, an exponent of e, as one of two."""
    return x * 1.4426950408889634


@triton.jit
def _load_rows(ptrs, d, inside, head_dim, EDGE: tl.constexpr, WHOLE: tl.constexpr):
    """A tile of rows: with EDGE those that are inside, with WHOLE all D elements of each."""
    if EDGE:
        x = tl.load(ptrs, mask=inside[:, None] & (d < head_dim)[None, :], other=0.0)
    elif WHOLE:
        x = tl.load(ptrs)
    else:
        x = tl.load(ptrs, mask=(d < head_dim)[None, :], other=0.0)
    return x


@triton.jit
def _attention_steps(acc, l, m, q, i, k_ptr, v_ptr, begin, end, seq_kv, shift, head_dim, head_dim_v, scale,
                     k_s, k_d, v_s, v_d, CAUSAL: tl.constexpr, EDGE: tl.constexpr, WHOLE: tl.constexpr,
                     WHOLE_V: tl.constexpr, N: tl.constexpr, D: tl.constexpr, DV: tl.constexpr,
                     STAGES: tl.constexpr = None):
    """The keys from begin to end, N in a step: acc = sum p v, l = sum p and m, the largest score, in powers
    of two. Without EDGE every query sees all of them, and nothing is masked. STAGES is its num_stages."""
    d = tl.arange(0, D)
    dv = tl.arange(0, DV)
    first = (begin + tl.arange(0, N)).to(tl.int64)[:, None]
    k_ptrs = k_ptr + first * k_s + d[None, :] * k_d
    v_ptrs = v_ptr + first * v_s + dv[None, :] * v_d
    ahead = tl.full([1, 1], N, tl.int64)
    for start in tl.range(begin, end, N, num_stages=STAGES):
        j = start + tl.arange(0, N)
        k = _load_rows(k_ptrs, d, j < seq_kv, head_dim, EDGE, WHOLE)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        if EDGE:
            visible = (j < seq_kv)[None, :]
            if CAUSAL:
                visible = visible & (j[None, :] <= i[:, None] + shift)
            s = tl.where(visible, s * scale, float("-inf"))
            m_new = tl.maximum(m, tl.max(s, axis=1))
        else:
            m_new = tl.maximum(m, tl.max(s, axis=1) * scale)
            s = s * scale
        # As long as a row has seen no key there is nothing to rescale, and -inf - -inf would be NaN.
        base = tl.where(m_new == float("-inf"), 0.0, m_new)
        p = tl.exp2(s - base[:, None])
        rescale = tl.exp2(m - base)
        l = l * rescale + tl.sum(p, axis=1)
        v = _load_rows(v_ptrs, dv, j < seq_kv, head_dim_v, EDGE, WHOLE_V)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None], input_precision="ieee")
        m = m_new
        k_ptrs += ahead * k_s
        v_ptrs += ahead * v_s
    return acc, l, m


@triton.jit
def _attention_fwd_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, heads, group, seq_q, seq_kv, head_dim,
                          head_dim_v, scale,
                          q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d,
                          NEGATIVE: tl.constexpr, CAUSAL: tl.constexpr, WHOLE: tl.constexpr,
                          WHOLE_V: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
                          DV: tl.constexpr):
    """o and lse of M queries of one head: first the keys that all of them see, then those at the edge.
    Programs with many keys come first. scale is the size of the scale, and NEGATIVE its sign: a constant of
    the compiler, since a condition on it makes wgmma take q from registers."""
    bh = tl.program_id(1).to(tl.int64)
    batch = bh // heads
    head = bh % heads
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    i = tile * M + tl.arange(0, M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + batch * q_b + head * q_h + i.to(tl.int64)[:, None] * q_s + d[None, :] * q_d,
                mask=(i < seq_q)[:, None] & (d < head_dim)[None, :], other=0.0)
    if NEGATIVE:  # so that the largest product is the largest score
        q = -q
    scale = _in_twos(scale)
    k_ptr += batch * k_b + (head // group) * k_h
    v_ptr += batch * v_b + (head // group) * v_h
    shift = seq_kv - seq_q
    end = seq_kv
    all_see = seq_kv // N * N
    if CAUSAL:
        end = tl.minimum(seq_kv, (tile + 1) * M + shift)
        all_see = tl.minimum(all_see, tl.maximum(tile * M + shift + 1, 0) // N * N)
    no_m = tl.full([M], float("-inf"), tl.float32)
    no_l = tl.zeros([M], tl.float32)
    no_acc = tl.zeros([M, DV], tl.float32)
    acc, l, m = _attention_steps(no_acc, no_l, no_m, q, i, k_ptr, v_ptr, 0, all_see, seq_kv, shift, head_dim,
                                 head_dim_v, scale, k_s, k_d, v_s, v_d, CAUSAL, False, WHOLE, WHOLE_V, N, D,
                                 DV)
    acc, l, m = _attention_steps(acc, l, m, q, i, k_ptr, v_ptr, all_see, end, seq_kv, shift, head_dim,
                                 head_dim_v, scale, k_s, k_d, v_s, v_d, CAUSAL, True, WHOLE, WHOLE_V, N, D,
                                 DV)
    # Where every query sees every key, s * scale - base is one multiply-add: of large scores it leaves the
    # rounding of base in the exponent, 2^29 where they are 2^53. With EDGE the product is rounded first. One
    # stage keeps this rare loop, for scores above 2^20, from taking registers of the other two.
    if tl.max(tl.where(m == float("-inf"), 0.0, tl.abs(m))) > 1048576.0:
        acc, l, m = _attention_steps(no_acc, no_l, no_m, q, i, k_ptr, v_ptr, 0, end, seq_kv, shift, head_dim,
                                     head_dim_v, scale, k_s, k_d, v_s, v_d, CAUSAL, True, WHOLE, WHOLE_V, N,
                                     D, DV, 1)
    sees = i + shift >= 0 if CAUSAL else (i >= 0) & (seq_kv > 0)
    o = tl.where(sees[:, None], acc / l[:, None], 0.0)
    lse = tl.where(sees, (m + tl.log2(l)) / 1.4426950408889634, float("-inf"))
    row = bh * seq_q + i
    dv = tl.arange(0, DV)
    tl.store(o_ptr + row[:, None] * head_dim_v + dv[None, :], o.to(o_ptr.dtype.element_ty),
             mask=(i < seq_q)[:, None] & (dv < head_dim_v)[None, :])
    tl.store(lse_ptr + row, lse, mask=i < seq_q)


@triton.jit
def _attention_delta_kernel(o_ptr, do_ptr, delta_ptr, heads, seq_q, head_dim_v, o_b, o_h, o_s, o_d, do_b,
                            do_h, do_s, do_d, M: tl.constexpr, DV: tl.constexpr):
    """delta = sum(grad_o * o) of M queries of one head."""
    bh = tl.program_id(1).to(tl.int64)
    i = (tl.program_id(0) * M + tl.arange(0, M)).to(tl.int64)
    d = tl.arange(0, DV)
    inside = (i < seq_q)[:, None] & (d < head_dim_v)[None, :]
    o = tl.load(o_ptr + (bh // heads) * o_b + (bh % heads) * o_h + i[:, None] * o_s + d[None, :] * o_d,
                mask=inside, other=0.0).to(tl.float32)
    do = tl.load(do_ptr + (bh // heads) * do_b + (bh % heads) * do_h + i[:, None] * do_s + d[None, :] * do_d,
                 mask=inside, other=0.0).to(tl.float32)
    tl.store(delta_ptr + bh * seq_q + i, tl.sum(o * do, axis=1), mask=i < seq_q)


@triton.jit
def _weight_of(lse):
    """What is taken from a score, in powers of two: where lse = -inf, P = 0."""
    return tl.where(lse == float("-inf"), float("inf"), _in_twos(lse))


@triton.jit
def _grad_q_steps(dq, q, do, weight, delta, i, k_ptr, v_ptr, begin, end, seq_kv, shift, head_dim, head_dim_v,
                  scale, k_s, k_d, v_s, v_d, CAUSAL: tl.constexpr, EDGE: tl.constexpr, WHOLE: tl.constexpr,
                  WHOLE_V: tl.constexpr, N: tl.constexpr, D: tl.constexpr, DV: tl.constexpr):
    """dq + dS k of the keys from begin to end; EDGE as in the forward."""
    d = tl.arange(0, D)
    dv = tl.arange(0, DV)
    first = (begin + tl.arange(0, N)).to(tl.int64)[:, None]
    k_ptrs = k_ptr + first * k_s + d[None, :] * k_d
    v_ptrs = v_ptr + first * v_s + dv[None, :] * v_d
    ahead = tl.full([1, 1], N, tl.int64)
    for start in range(begin, end, N):
        j = start + tl.arange(0, N)
        k = _load_rows(k_ptrs, d, j < seq_kv, head_dim, EDGE, WHOLE)
        v = _load_rows(v_ptrs, dv, j < seq_kv, head_dim_v, EDGE, WHOLE_V)
        s = tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp2(s * scale - weight[:, None])
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        if EDGE:
            visible = (j < seq_kv)[None, :]
            if CAUSAL:
                visible = visible & (j[None, :] <= i[:, None] + shift)
            ds = tl.where(visible, ds, 0.0)
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
        k_ptrs += ahead * k_s
        v_ptrs += ahead * v_s
    return dq


@triton.jit
def _attention_bwd_q_kernel(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, heads, group, seq_q,
                            seq_kv, head_dim, head_dim_v, scale,
                            q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, do_b, do_h, do_s,
                            do_d, lse_b, lse_h, lse_s, CAUSAL: tl.constexpr, WHOLE: tl.constexpr,
                            WHOLE_V: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
                            DV: tl.constexpr):
    """grad_q of M queries of one head."""
    bh = tl.program_id(1).to(tl.int64)
    batch = bh // heads
    head = bh % heads
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    i = tile * M + tl.arange(0, M)
    d = tl.arange(0, D)
    dv = tl.arange(0, DV)
    row = i.to(tl.int64)[:, None]
    inside_q = (i < seq_q)[:, None] & (d < head_dim)[None, :]
    q = tl.load(q_ptr + batch * q_b + head * q_h + row * q_s + d[None, :] * q_d, mask=inside_q, other=0.0)
    do = tl.load(do_ptr + batch * do_b + head * do_h + row * do_s + dv[None, :] * do_d,
                 mask=(i < seq_q)[:, None] & (dv < head_dim_v)[None, :], other=0.0)
    lse = tl.load(lse_ptr + batch * lse_b + head * lse_h + i.to(tl.int64) * lse_s, mask=i < seq_q,
                  other=float("-inf"))
    delta = tl.load(delta_ptr + bh * seq_q + i, mask=i < seq_q, other=0.0)
    k_ptr += batch * k_b + (head // group) * k_h
    v_ptr += batch * v_b + (head // group) * v_h
    shift = seq_kv - seq_q
    end = seq_kv
    all_see = seq_kv // N * N
    if CAUSAL:
        end = tl.minimum(seq_kv, (tile + 1) * M + shift)
        all_see = tl.minimum(all_see, tl.maximum(tile * M + shift + 1, 0) // N * N)
    dq = tl.zeros([M, D], tl.float32)
    dq = _grad_q_steps(dq, q, do, _weight_of(lse), delta, i, k_ptr, v_ptr, 0, all_see, seq_kv, shift,
                       head_dim, head_dim_v, _in_twos(scale), k_s, k_d, v_s, v_d, CAUSAL, False, WHOLE,
                       WHOLE_V, N, D, DV)
    dq = _grad_q_steps(dq, q, do, _weight_of(lse), delta, i, k_ptr, v_ptr, all_see, end, seq_kv, shift,
                       head_dim, head_dim_v, _in_twos(scale), k_s, k_d, v_s, v_d, CAUSAL, True, WHOLE,
                       WHOLE_V, N, D, DV)
    out = dq_ptr + (bh * seq_q + i)[:, None] * head_dim + d[None, :]
    tl.store(out, (dq * scale).to(dq_ptr.dtype.element_ty), mask=inside_q)


@triton.jit
def _grad_kv_steps(dk, dv, k, v, j, q_ptr, do_ptr, lse_ptr, delta_ptr, begin, end, seq_q, shift, head_dim,
                   head_dim_v, scale, q_s, q_d, do_s, do_d, lse_s, CAUSAL: tl.constexpr, EDGE: tl.constexpr,
                   WHOLE: tl.constexpr, WHOLE_V: tl.constexpr, M: tl.constexpr, D: tl.constexpr,
                   DV: tl.constexpr):
    """dk + dS^T q and dv + P^T do of the queries from begin to end. Without EDGE all of them see every
    key."""
    d = tl.arange(0, D)
    first = (begin + tl.arange(0, M)).to(tl.int64)[:, None]
    q_ptrs = q_ptr + first * q_s + d[None, :] * q_d
    columns = tl.arange(0, DV)
    do_ptrs = do_ptr + first * do_s + columns[None, :] * do_d
    ahead = tl.full([1, 1], M, tl.int64)
    for start in range(begin, end, M):
        i = start + tl.arange(0, M)
        q = _load_rows(q_ptrs, d, i < seq_q, head_dim, EDGE, WHOLE)
        do = _load_rows(do_ptrs, columns, i < seq_q, head_dim_v, EDGE, WHOLE_V)
        lse = tl.load(lse_ptr + i.to(tl.int64) * lse_s, mask=i < seq_q, other=float("-inf"))
        delta = tl.load(delta_ptr + i, mask=i < seq_q, other=0.0)
        s = tl.dot(k, tl.trans(q), input_precision="ieee")
        p = tl.exp2(s * scale - _weight_of(lse)[None, :])
        if EDGE and CAUSAL:
            p = tl.where(j[:, None] <= i[None, :] + shift, p, 0.0)
        dv = tl.dot(p.to(do.dtype), do, dv, input_precision="ieee")
        ds = p * (tl.dot(v, tl.trans(do), input_precision="ieee") - delta[None, :])
        dk = tl.dot(ds.to(q.dtype), q, dk, input_precision="ieee")
        q_ptrs += ahead * q_s
        do_ptrs += ahead * do_s
    return dk, dv


@triton.jit
def _attention_bwd_kv_kernel(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, heads_kv, group,
                             seq_q, seq_kv, head_dim, head_dim_v, scale,
                             q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, do_b, do_h, do_s,
                             do_d, lse_b, lse_h, lse_s, CAUSAL: tl.constexpr, WHOLE: tl.constexpr,
                             WHOLE_V: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
                             DV: tl.constexpr):
    """grad_k and grad_v of N keys of one head, summed over the group of query heads that read it: of each the
    queries that see some of the keys, those that see all, and what is left of a step."""
    bh = tl.program_id(1).to(tl.int64)
    batch = bh // heads_kv
    head_kv = bh % heads_kv
    tile = tl.program_id(0)
    j = tile * N + tl.arange(0, N)
    d = tl.arange(0, D)
    columns = tl.arange(0, DV)
    inside_k = (j < seq_kv)[:, None] & (d < head_dim)[None, :]
    inside_v = (j < seq_kv)[:, None] & (columns < head_dim_v)[None, :]
    k = tl.load(k_ptr + batch * k_b + head_kv * k_h + j.to(tl.int64)[:, None] * k_s + d[None, :] * k_d,
                mask=inside_k, other=0.0)
    v = tl.load(v_ptr + batch * v_b + head_kv * v_h + j.to(tl.int64)[:, None] * v_s + columns[None, :] * v_d,
                mask=inside_v, other=0.0)
    shift = seq_kv - seq_q
    steps = seq_q // M * M
    begin = 0
    all_see = 0
    if CAUSAL:
        begin = tl.minimum(tl.maximum(tile * N - shift, 0) // M * M, steps)
        all_see = tl.minimum((tl.maximum((tile + 1) * N - 1 - shift, 0) + M - 1) // M * M, steps)
    dk = tl.zeros([N, D], tl.float32)
    dv = tl.zeros([N, DV], tl.float32)
    for member in range(0, group):
        head = head_kv * group + member
        q_of = q_ptr + batch * q_b + head * q_h
        do_of = do_ptr + batch * do_b + head * do_h
        lse_of = lse_ptr + batch * lse_b + head * lse_h
        delta_of = delta_ptr + (batch * heads_kv * group + head) * seq_q
        if CAUSAL:
            dk, dv = _grad_kv_steps(dk, dv, k, v, j, q_of, do_of, lse_of, delta_of, begin, all_see, seq_q,
                                    shift, head_dim, head_dim_v, _in_twos(scale), q_s, q_d, do_s, do_d, lse_s,
                                    CAUSAL, True, WHOLE, WHOLE_V, M, D, DV)
        dk, dv = _grad_kv_steps(dk, dv, k, v, j, q_of, do_of, lse_of, delta_of, all_see, steps, seq_q,
                                shift, head_dim, head_dim_v, _in_twos(scale), q_s, q_d, do_s, do_d, lse_s,
                                CAUSAL, False, WHOLE, WHOLE_V, M, D, DV)
        dk, dv = _grad_kv_steps(dk, dv, k, v, j, q_of, do_of, lse_of, delta_of, steps, seq_q, seq_q, shift,
                                head_dim, head_dim_v, _in_twos(scale), q_s, q_d, do_s, do_d, lse_s, CAUSAL,
                                True, WHOLE, WHOLE_V, M, D, DV)
    row = (bh * seq_kv + j)[:, None]
    tl.store(dk_ptr + row * head_dim + d[None, :], (dk * scale).to(dk_ptr.dtype.element_ty), mask=inside_k)
    tl.store(dv_ptr + row * head_dim_v + columns[None, :], dv.to(dv_ptr.dtype.element_ty), mask=inside_v)


_MUCH_SHARED_MEMORY = {(8, 0), (9, 0), (10, 0), (10, 3)}
"""Compute capabilities of GPUs where a block may have 163 KB, for three stages of tiles; elsewhere 99."""


def _plan(kernel: str, q, k, v) -> dict[str, int]:
    """Queries and keys of a step of "forward", "grad_q" or "grad_kv", warps and stages: what was fastest on
    an H200 in 16 bits, and less where a block has less shared memory or head_dim is wide. IEEE products of
    fp32 take no tensor core: their tiles are small, or the compiler unrolls for half a minute. The
    interpreter takes up to 128 of each, and no more than there are."""
    head_dim, backward = max(q.shape[3], v.shape[3]), kernel != "forward"
    if INTERPRETED:
        m, n = (min(128, next_power_of_2(x.shape[2])) for x in (q, k))
        warps, stages = 4, 1
    elif q.dtype == torch.float32 or head_dim > 128 or capability(q.device) not in _MUCH_SHARED_MEMORY:
        narrow, warps, stages = head_dim <= 128, 4 if head_dim <= 64 else 8, 1 if backward else 2
        if q.dtype == torch.float32:
            m, n = ((32, 32) if narrow else (16, 16)) if backward else ((64, 32) if narrow else (32, 16))
        elif backward:
            m, n = (64, 64) if head_dim <= 64 else (64, 32) if narrow else (32, 32)
        else:
            m, n = (128, 64) if narrow else (64, 32)
    else:
        m, n, warps, stages = {
            "forward": (128, 64, 8, 3) if head_dim <= 64 else (64, 64, 4, 3),
            "grad_q": (64, 64, 4, 3) if head_dim <= 64 else (128, 64, 8, 3),
            "grad_kv": (32, 64, 4, 1) if head_dim <= 64 else (64, 64, 4, 2),
        }[kernel]
    width, width_v = next_power_of_2(q.shape[3]), next_power_of_2(v.shape[3])
    return {"WHOLE": width == q.shape[3], "WHOLE_V": width_v == v.shape[3], "M": m, "N": n, "D": width,
            "DV": width_v, "num_warps": warps, "num_stages": stages}


def forward(q, k, v, *, causal, scale):
    """q [batch, heads_q, seq_q, head_dim], k [batch, heads_kv, seq_kv, head_dim], v [batch, heads_kv, seq_kv,
    head_dim_v] -> o [batch, heads_q, seq_q, head_dim_v] of q's dtype, lse [batch, heads_q, seq_q] fp32."""
    batch, heads, seq_q, head_dim = q.shape
    o = torch.empty((*q.shape[:3], v.shape[3]), dtype=q.dtype, device=q.device)
    lse = torch.empty((batch, heads, seq_q), dtype=torch.float32, device=q.device)
    if lse.numel():
        plan = _plan("forward", q, k, v)
        _attention_fwd_kernel[(ceildiv(seq_q, plan["M"]), batch * heads)](
            q, k, v, o, lse, heads, heads // k.shape[1], seq_q, k.shape[2], head_dim, v.shape[3],
            abs(scale), *q.stride(), *k.stride(), *v.stride(), NEGATIVE=scale < 0, CAUSAL=causal, **plan)
    return o, lse


def backward(q, k, v, o, lse, grad_o, *, causal, scale):
    """The forward's inputs and outputs and grad_o of o's shape -> grad_q, grad_k, grad_v of the shapes and
    dtypes of q, k, v."""
    (batch, heads, seq_q, head_dim), (_, heads_kv, seq_kv, _) = q.shape, k.shape
    group = heads // heads_kv
    grad_q = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    grad_k = torch.empty(k.shape, dtype=k.dtype, device=k.device)
    grad_v = torch.empty(v.shape, dtype=v.dtype, device=v.device)
    delta = torch.empty((batch, heads, seq_q), dtype=torch.float32, device=q.device)
    sizes = (group, seq_q, seq_kv, head_dim, v.shape[3], scale)
    strides = (*q.stride(), *k.stride(), *v.stride(), *grad_o.stride(), *lse.stride())
    if delta.numel():
        plan = _plan("grad_q", q, k, v)
        grid = (ceildiv(seq_q, plan["M"]), batch * heads)
        _attention_delta_kernel[grid](o, grad_o, delta, heads, seq_q, v.shape[3], *o.stride(),
                                      *grad_o.stride(), M=plan["M"], DV=plan["DV"])
        _attention_bwd_q_kernel[grid](q, k, v, grad_o, lse, delta, grad_q, heads, *sizes, *strides,
                                      CAUSAL=causal, **plan)
    if grad_k.numel():
        plan = _plan("grad_kv", q, k, v)
        _attention_bwd_kv_kernel[(ceildiv(seq_kv, plan["N"]), batch * heads_kv)](
            q, k, v, grad_o, lse, delta, grad_k, grad_v, heads_kv, *sizes, *strides, CAUSAL=causal, **plan)
    return grad_q, grad_k, grad_v


def _accepts_tiled(direction, q, k, v, *rest, causal, scale):
    for name, n in (("head_dim", q.shape[3]), ("head_dim_v", v.shape[3])):
        if not (16 <= n <= 256 and n % 8 == 0):
            return f"flash_attention/triton/tiled: {name} {n} is not a multiple of 8 in 16..256"
    return too_old(q.device, "a block, with 96 KB of shared memory,", (8, 0))


# ---- torch


def _scores(q, k, causal: bool, scale: float):
    """Scaled, masked scores of every query head, in q's dtype."""
    s = (q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).transpose(2, 3)) * scale
    return s.masked_fill(~visible(q.shape[2], k.shape[2], q.device), float("-inf")) if causal else s


def reference(q, k, v, *, causal, scale):
    """The composition in torch, in the dtype of q: o and lse; differentiable."""
    blind = blind_queries(q, k, causal)
    if blind == q.shape[2]:
        return library.no_output(q, v), torch.full(q.shape[:3], float("-inf"), dtype=q.dtype, device=q.device)
    s = _scores(q[:, :, blind:], k, causal, scale)
    o = rounded(torch.softmax(s, -1)) @ v.repeat_interleave(q.shape[1] // v.shape[1], 1)
    m = s.amax(-1).detach()
    # torch.logsumexp gives inf where a score is inf and o is NaN; here both are NaN
    lse = m + torch.exp(s - m[..., None]).sum(-1).log()
    return F.pad(o, (0, 0, blind, 0)), F.pad(lse, (blind, 0), value=float("-inf"))


def reference_backward(q, k, v, o, lse, grad_o, *, causal, scale):
    """The backward formula in torch, on saved tensors."""
    group = q.shape[1] // k.shape[1]
    s = _scores(q, k, causal, scale)
    lse = lse[..., None]
    p = rounded(torch.where((s == float("-inf")) | (lse == float("-inf")), 0.0, torch.exp(s - lse)))
    grad_p = grad_o @ v.repeat_interleave(group, 1).transpose(2, 3)
    ds = rounded(p * (grad_p - (grad_o * o).sum(-1, keepdim=True)))
    of_group = lambda t: t.unflatten(1, (k.shape[1], group)).sum(2)
    return (scale * (ds @ k.repeat_interleave(group, 1)), of_group(scale * (ds.transpose(2, 3) @ q)),
            of_group(p.transpose(2, 3) @ grad_o))


def forward_eager(q, k, v, *, causal, scale):
    """o alone, of the composition."""
    return reference(q, k, v, causal=causal, scale=scale)[0].contiguous()


def _row(name: str, function, contract: str, **more) -> Implementation:
    """A torch row: o, and the gradients through autograd."""
    # Where heads share a key's head, autograd rounds grad_k and grad_v of each to the dtype before it adds
    # them up: contract eager.
    declared = sixteen_bit(contract, "forward") | sixteen_bit("eager", "backward")
    return differentiable_row(name, function, 3, DIFFERENTIABLE, ("o",), _GRADIENTS, contract=declared,
                              **more)


_GRADIENTS = ("grad_q", "grad_k", "grad_v")
_ATOMIC, _ANY_SUM = (("grad_q",), _GRADIENTS) if torch.cuda.is_available() and not INTERPRETED else ((), ())
"""On GPUs torch's kernels add grad_q up by atomics; the memory-efficient one (sdpa's too) splits all sums."""

_TAKES = "what torch says that this kernel takes, in rows that begin at a multiple of 16 bytes"

IMPLEMENTATIONS = [
    Implementation("triton/tiled", forward, backward, outputs=("o", "lse"), gradients=_GRADIENTS,
                   contract=sixteen_bit("p16"), accepts=_accepts_tiled,
                   constraint="head_dim and head_dim_v multiples of 8 in 16..256; a GPU of capability 8.0 or "
                              "higher"),
    _row("torch/sdpa", library.attention, "p16", accepts=library.reads_whole_vectors,
         nondeterministic=_ANY_SUM, constraint="on a GPU rows that begin at a multiple of 16 bytes"),
    _row("torch/eager", forward_eager, "eager"),
    Implementation("fa4/kernel", library.fa4_forward, library.fa4_backward, outputs=("o", "lse"),
                   gradients=_GRADIENTS, contract=sixteen_bit("p16"), dtypes=("fp16", "bf16"),
                   module="flash_attn.cute.interface", accepts=library.accepts_fa4,
                   nondeterministic=_GRADIENTS,
                   constraint="head_dim and head_dim_v multiples of 8 in 8..256 (equal in a backward with "
                              "shared key heads), compute capability 9.0 or higher, no empty tensor"),
]
if torch.cuda.is_available() and not INTERPRETED:
    IMPLEMENTATIONS += [
        _row("torch/cudnn", library.held_to(SDPBackend.CUDNN_ATTENTION), "p16",
             accepts=library.accepts_held_to(SDPBackend.CUDNN_ATTENTION), nondeterministic=_ATOMIC,
             constraint=_TAKES),
        _row("torch/flash", library.held_to(SDPBackend.FLASH_ATTENTION), "p16",
             accepts=library.accepts_held_to(SDPBackend.FLASH_ATTENTION), nondeterministic=_ATOMIC,
             constraint=_TAKES),
        _row("torch/efficient", library.held_to(SDPBackend.EFFICIENT_ATTENTION), "p16",
             accepts=library.accepts_held_to(SDPBackend.EFFICIENT_ATTENTION), nondeterministic=_ANY_SUM,
             constraint=_TAKES),
        # The scores are a product of the dtype. Where Inductor recognises attention it calls sdpa, whose
        # backward adds grad_q up by atomics.
        _row("torch/compile", compile_for(forward_eager), "eager", compiled=True, nondeterministic=_ATOMIC),
    ]
