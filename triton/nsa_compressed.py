"""nsa_compressed: o = softmax(scale * q k^T) v and lse over the blocks c < floor((t + 1) / block_size) that
have ended by a query's token t, of each of which there is one key and one value
backward, with P = exp(scale * q k^T - lse), delta = sum(grad_o * o), dS = P * (grad_o . v - delta):
    grad_q = scale * dS k; grad_k = scale * dS^T q; grad_v = P^T grad_o

Layout   q [batch, seq, heads, head_dim], k and v [batch, ceildiv(seq, block_size), heads_kv, head_dim or
         head_dim_v], means of their blocks, grad_o as o, any strides; o [batch, seq, heads, head_dim_v],
         lse [batch, seq, heads] fp32, gradients contiguous. fp32 (products in IEEE fp32), fp16, bf16 (P and
         dS are multiplied in the dtype: contract p16); every other value is fp32.
Unseen   blocks are not read: they may be NaN, and the last one, where it is not whole, is never seen. Over no
         block o is 0 and lse empty_lse. batch and seq may be 0.
Limits   triton: head_dim and head_dim_v at most 256
Source   Yuan et al. 2025, arXiv:2502.11089; fla-org, flash-linear-attention, ops/nsa/compression.py
  triton/tiled   rows of a tile are the heads of neighbouring queries that see the same blocks, in steps of
                 keys; backward: a kernel each over rows and keys
  torch/eager    for each number of blocks two products in fp32, of the queries that see so many
  fla/kernel     flash-linear-attention's kernels, one program a query

torch.compile has no row: it takes minutes to compile this formula.
"""

import math

import torch

from fla_nsa import compressed_row
from implementation import (
    INTERPRETED,
    Implementation,
    ceildiv,
    differentiable_row,
    next_power_of_2,
    sixteen_bit,
    tl,
    triton,
)

DIFFERENTIABLE = (0, 1, 2)  # of the inputs of reference


@triton.jit
def _rows(at, inside, stride, n, D: tl.constexpr):
    """The first n elements of the rows at those addresses that are inside, the others 0."""
    c = tl.arange(0, D)
    return tl.load(at[:, None] + c[None, :] * stride, mask=inside[:, None] & (c < n)[None, :], other=0.0)


@triton.jit
def _store(at, x, inside, n, D: tl.constexpr):
    c = tl.arange(0, D)
    tl.store(at[:, None] + c[None, :], x.to(at.dtype.element_ty), mask=inside[:, None] & (c < n)[None, :])


@triton.jit
def _dot(x, y):
    return tl.dot(x, y, input_precision="ieee")


@triton.jit
def _step(step, part, seq, size, group, M: tl.constexpr):
    """The queries of a step see as many blocks as its number says. Of its rows, the heads of a group of each,
    M: their queries, their heads within the group, and which are there."""
    begin, end = tl.maximum(step * size - 1, 0), tl.minimum((step + 1) * size - 1, seq)
    r = part * M + tl.arange(0, M)
    return (begin + r // group).to(tl.int64), r % group, r < (end - begin) * group


@triton.jit
def _nsa_compressed_rows_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, do_ptr, grad_ptr, delta_ptr, seq, heads,
                                heads_kv, n, n_v, size, scale, empty, q_b, q_s, q_h, q_d, k_b, k_s, k_h, k_d,
                                v_b, v_s, v_h, v_d, o_b, o_s, o_h, o_d, l_b, l_s, l_h, do_b, do_s, do_h, do_d,
                                GRADIENT: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr,
                                DV: tl.constexpr):
    """M rows of o and lse, or with GRADIENT of grad_q and of delta = sum(grad_o * o)."""
    b, hk, group = (tl.program_id(2) // heads_kv).to(tl.int64), tl.program_id(2) % heads_kv, heads // heads_kv
    seen = tl.num_programs(1) - 1 - tl.program_id(1)  # long rows come first
    t, h, inside = _step(seen, tl.program_id(0), seq, size, group, M)
    h = hk * group + h
    row = (b * seq + t) * heads + h
    q = _rows(q_ptr + b * q_b + t * q_s + h * q_h, inside, q_d, n, D)
    k_at, v_at = k_ptr + b * k_b + hk * k_h, v_ptr + b * v_b + hk * v_h
    o_at, l_at = o_ptr + b * o_b + t * o_s + h * o_h, lse_ptr + b * l_b + t * l_s + h * l_h
    m, l = tl.full([M], float("-inf"), tl.float32), tl.zeros([M], tl.float32)
    acc, dq = tl.zeros([M, DV], tl.float32), tl.zeros([M, D], tl.float32)
    if GRADIENT:
        do = _rows(do_ptr + b * do_b + t * do_s + h * do_h, inside, do_d, n_v, DV)
        o = _rows(o_at, inside, o_d, n_v, DV).to(tl.float32)
        delta = tl.sum(o * do.to(tl.float32), axis=1)
        tl.store(delta_ptr + row, delta, mask=inside)
        lse = tl.load(l_at, mask=inside, other=0.0) * 1.4426950408889634
    for start in range(0, seen, N):
        j = start + tl.arange(0, N)
        there = j < seen
        k = _rows(k_at + j.to(tl.int64) * k_s, there, k_d, n, D)
        v = _rows(v_at + j.to(tl.int64) * v_s, there, v_d, n_v, DV)
        s = _dot(q, tl.trans(k)) * (scale * 1.4426950408889634)
        if GRADIENT:
            p = tl.exp2(s - lse[:, None])
            ds = p * (_dot(do, tl.trans(v)) - delta[:, None]) * scale
            dq += _dot(tl.where(there[None, :] & inside[:, None], ds, 0.0).to(k.dtype), k)
        else:
            s = tl.where(there[None, :], s, float("-inf"))
            m_new = tl.maximum(m, tl.max(s, axis=1))
            base = tl.where(m_new == float("-inf"), 0.0, m_new)  # -inf - -inf would be NaN
            p, decay = tl.exp2(s - base[:, None]), tl.exp2(m - base)
            l = l * decay + tl.sum(p, axis=1)
            acc = acc * decay[:, None] + _dot(p.to(v.dtype), v)
            m = m_new
    if GRADIENT:
        _store(grad_ptr + row * n, dq, inside, n, D)
    else:
        some = (seen > 0) & inside
        _store(o_at, tl.where(some[:, None], acc / l[:, None], 0.0), inside, n_v, DV)
        # where every score is -inf there is no mean
        lse = tl.where(m == float("-inf"), float("nan"), (m + tl.log2(l)) / 1.4426950408889634)
        tl.store(l_at, tl.where(some, lse, empty), mask=inside)


@triton.jit
def _nsa_compressed_keys_kernel(q_ptr, k_ptr, v_ptr, lse_ptr, do_ptr, delta_ptr, dk_ptr, dv_ptr, seq, heads,
                                heads_kv, n, n_v, size, scale, q_b, q_s, q_h, q_d, k_b, k_s, k_h, k_d, v_b,
                                v_s, v_h, v_d, l_b, l_s, l_h, do_b, do_s, do_h, do_d, M: tl.constexpr,
                                N: tl.constexpr, D: tl.constexpr, DV: tl.constexpr):
    """grad_k and grad_v of N keys, over the rows that see the first of them, M at a time."""
    b, hk, group = (tl.program_id(1) // heads_kv).to(tl.int64), tl.program_id(1) % heads_kv, heads // heads_kv
    whole, blocks = seq // size, (seq + size - 1) // size
    j = tl.program_id(0) * N + tl.arange(0, N)
    begin = tl.minimum((tl.program_id(0) * N + 1) * size - 1, seq)
    k = _rows(k_ptr + b * k_b + j.to(tl.int64) * k_s + hk * k_h, j < whole, k_d, n, D)
    v = _rows(v_ptr + b * v_b + j.to(tl.int64) * v_s + hk * v_h, j < whole, v_d, n_v, DV)
    dk, dv = tl.zeros([N, D], tl.float32), tl.zeros([N, DV], tl.float32)
    for start in range(0, (seq - begin) * group, M):
        r = start + tl.arange(0, M)
        t, h = (begin + r // group).to(tl.int64), hk * group + r % group
        q = _rows(q_ptr + b * q_b + t * q_s + h * q_h, t < seq, q_d, n, D)
        do = _rows(do_ptr + b * do_b + t * do_s + h * do_h, t < seq, do_d, n_v, DV)
        lse = tl.load(lse_ptr + b * l_b + t * l_s + h * l_h, mask=t < seq, other=0.0) * 1.4426950408889634
        delta = tl.load(delta_ptr + (b * seq + t) * heads + h, mask=t < seq, other=0.0)
        sees = (j[None, :] < (t[:, None] + 1) // size) & (t < seq)[:, None]
        p = tl.exp2(_dot(q, tl.trans(k)) * (scale * 1.4426950408889634) - lse[:, None])
        p = tl.where(sees, p, 0.0)
        ds = tl.where(sees, p * (_dot(do, tl.trans(v)) - delta[:, None]) * scale, 0.0)
        dv += _dot(tl.trans(p.to(do.dtype)), do)
        # where q is not finite, no P of its row is a number: 0 * NaN must not reach keys it does not see
        finite = tl.where(tl.abs(q.to(tl.float32)) < float("inf"), q, 0.0).to(q.dtype)
        dk += _dot(tl.trans(ds.to(q.dtype)), finite)
    out = (b * blocks + j) * heads_kv + hk
    _store(dk_ptr + out * n, dk, j < blocks, n, D)
    _store(dv_ptr + out * n_v, dv, j < blocks, n_v, DV)


def _plan(q, v, rows: int, keys: int) -> dict[str, int]:
    """The tile of a program, rows and keys, and the lengths of rows."""
    most, least = 16 if q.dtype == torch.float32 else 32, 16
    if INTERPRETED:  # it multiplies any tile
        most, least = 64, 1
    m, n = (max(least, min(most, next_power_of_2(x))) for x in (rows, keys))
    return {"M": m, "N": n, "D": max(16, next_power_of_2(q.shape[3])),
            "DV": max(16, next_power_of_2(v.shape[3])), "num_warps": 4, "num_stages": 1}


def _sizes(q, k, v, block_size: int):
    """What both kernels take behind their tensors, and how many rows a step has."""
    size = min(block_size, q.shape[1] + 1)
    rows = min(size, q.shape[1]) * (q.shape[2] // k.shape[2])
    return (q.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3], size), rows


def forward(q, k, v, *, block_size, scale, empty_lse):
    """q [batch, seq, heads, head_dim], k, v [batch, ceildiv(seq, block_size), heads_kv, ...] -> o [batch,
    seq, heads, head_dim_v] of q's dtype, lse [batch, seq, heads] fp32."""
    o = q.new_empty((*q.shape[:3], v.shape[3]))
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    if o.numel():
        sizes, rows = _sizes(q, k, v, block_size)
        plan = _plan(q, v, rows, k.shape[1])
        grid = ceildiv(rows, plan["M"]), q.shape[1] // sizes[5] + 1, q.shape[0] * k.shape[2]
        _nsa_compressed_rows_kernel[grid](
            q, k, v, o, lse, o, o, lse, *sizes, scale, 0.0 if empty_lse == "zero" else -math.inf, *q.stride(),
            *k.stride(), *v.stride(), *o.stride(), *lse.stride(), *o.stride(), GRADIENT=False, **plan)
    return o, lse


def backward(q, k, v, o, lse, grad_o, *, block_size, scale, empty_lse):
    """The forward's inputs and outputs and grad_o -> grad_q, grad_k, grad_v."""
    grads = [torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v)]
    if q.numel():
        sizes, rows = _sizes(q, k, v, block_size)
        plan, over = _plan(q, v, rows, k.shape[1]), q.shape[0] * k.shape[2]
        delta = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
        _nsa_compressed_rows_kernel[ceildiv(rows, plan["M"]), q.shape[1] // sizes[5] + 1, over](
            q, k, v, o, lse, grad_o, grads[0], delta, *sizes, scale, 0.0, *q.stride(), *k.stride(),
            *v.stride(), *o.stride(), *lse.stride(), *grad_o.stride(), GRADIENT=True, **plan)
        if INTERPRETED:  # few steps are fast there
            plan["M"] = min(512, next_power_of_2(q.shape[1] * (q.shape[2] // k.shape[2])))
        _nsa_compressed_keys_kernel[ceildiv(k.shape[1], plan["N"]), over](
            q, k, v, lse, grad_o, delta, grads[1], grads[2], *sizes, scale, *q.stride(), *k.stride(),
            *v.stride(), *lse.stride(), *grad_o.stride(), **plan)
    return tuple(grads)


# ---- torch


def _steps(block_size: int, queries, blocks):
    """For each number of blocks from 1 on its slice of tensors by query [batch, seq, ...], and of tensors by
    block, then these parts. What is not seen is left out: 0 * NaN is NaN."""
    seq = queries[0].shape[1]
    for seen in range(1, seq // block_size + 1):
        of = slice(seen * block_size - 1, min((seen + 1) * block_size - 1, seq))
        yield of, slice(seen), *(x[:, of] for x in queries), *(x[:, :seen] for x in blocks)


def _wide(*tensors):
    """Tensors in fp32, or fp64 where they are."""
    return tuple(x if x.dtype == torch.float64 else x.float() for x in tensors)


def _grouped(k, *tensors):
    """Tensors [batch, seq, heads, ...] by heads of k."""
    return tuple(x.unflatten(2, (k.shape[2], x.shape[2] // k.shape[2])) for x in _wide(*tensors))


def _products(q, k):
    return torch.einsum("bthgd,bchd->bthgc", q, k)


def reference(q, k, v, *, block_size, scale, empty_lse):
    """The formula in torch: o in the dtype of q, and lse; differentiable."""
    (rows,), (keys, values) = _grouped(k, q), _wide(k, v)
    blind, empty = min(block_size - 1, q.shape[1]), 0.0 if empty_lse == "zero" else -math.inf
    shape = (rows.shape[0], blind, *rows.shape[2:4])
    o, lse = [rows.new_zeros((*shape, v.shape[3]))], [rows.new_full(shape, empty)]
    for _, _, at, mine, theirs in _steps(block_size, (rows,), (keys, values)):
        s = _products(at, mine) * scale
        m = s.detach().amax(4, keepdim=True)
        p = torch.exp(s - m)
        total = p.sum(4, keepdim=True)
        o.append(torch.einsum("bthgc,bchd->bthgd", p / total, theirs))
        lse.append((m + total.log())[..., 0])
    o, lse = (torch.cat(x, 1).flatten(2, 3) for x in (o, lse))
    return o.to(q.dtype).contiguous(), lse.contiguous()


def reference_backward(q, k, v, o, lse, grad_o, *, block_size, scale, empty_lse):
    """The backward formula in torch, on saved tensors."""
    rows, means, do, log = _grouped(k, q, o, grad_o, lse)
    keys, values = _wide(k, v)
    grads = tuple(torch.zeros_like(x) for x in (rows, keys, values))
    delta = (do * means).sum(-1, keepdim=True)
    parts = _steps(block_size, (rows, do, delta, log), (keys, values))
    for of, seen, at, g, d, lse_of, mine, theirs in parts:
        p = torch.exp(_products(at, mine) * scale - lse_of[..., None])
        ds = p * (_products(g, theirs) - d) * scale
        grads[0][:, of] = torch.einsum("bthgc,bchd->bthgd", ds, mine)
        grads[1][:, seen] += torch.einsum("bthgc,bthgd->bchd", ds, at)
        grads[2][:, seen] += torch.einsum("bthgc,bthgd->bchd", p, g)
    return tuple(g.reshape(x.shape).to(x.dtype) for g, x in zip(grads, (q, k, v)))


_NAMES = {"outputs": ("o", "lse"), "gradients": ("grad_q", "grad_k", "grad_v"),
          "contract": sixteen_bit("p16")}

IMPLEMENTATIONS = [
    Implementation("triton/tiled", forward, backward, **_NAMES),
    differentiable_row("torch/eager", reference, 3, DIFFERENTIABLE, **_NAMES),
    compressed_row(_NAMES),
]
