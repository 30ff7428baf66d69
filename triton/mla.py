"""mla: o[b,i,h] = softmax_j(scale * q[b,i,h] . c_j) v_j, lse[b,h,i] = ln sum_j exp(scale * q[b,i,h] . c_j),
where c_j = kv[b,j] is the latent row that all heads share, v_j its first head_dim_v elements
backward, with P = exp(scale * q . c - lse), delta = sum(grad_o * o) and dS = P * (grad_o . v - delta):
    grad_q = scale * dS c, grad_kv = scale * dS^T q, plus P^T grad_o in the columns of v, rounded once

Layout   q [batch, seq_q, heads, head_dim], kv [batch, seq_kv, head_dim], grad_o as o, any strides; o [batch,
         seq_q, heads, head_dim_v], lse [batch, heads, seq_q] fp32, gradients contiguous. fp32 (products in
         IEEE fp32), fp16, bf16 (P and dS are multiplied in the dtype: contract p16); every other value
         inside is fp32.
Causal   is aligned to the end: key j is visible to query i iff j <= i + seq_kv - seq_q. A query that sees no
         key has o = 0, lse = -inf, and no gradient. batch, seq_q, seq_kv may be 0.
Limits   triton: head_dim_v and the rest of head_dim multiples of 16, at most 576 in all
Source   DeepSeek-AI 2024, arXiv:2405.04434; gradients: Dao et al. 2022, arXiv:2205.14135
  triton/tiled   the heads of neighbouring queries are the rows of a tile, keys in steps; backward: a kernel
                 each over rows and keys
  torch/eager    two products in fp32
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
    differentiable_row,
    next_power_of_2,
    sixteen_bit,
    tl,
    too_old,
    triton,
)

DIFFERENTIABLE = (0, 1)  # of the inputs of reference


@triton.jit
def _part(at, inside, first, last, stride, W: tl.constexpr):
    """Of the rows at those addresses, that are inside, the elements from first to last: W, the others 0."""
    c = first + tl.arange(0, W)
    return tl.load(at[:, None] + c[None, :] * stride, mask=inside[:, None] & (c < last)[None, :], other=0.0)


@triton.jit
def _store(at, x, inside, first, last, W: tl.constexpr):
    c = first + tl.arange(0, W)
    tl.store(at[:, None] + c[None, :], x.to(at.dtype.element_ty), mask=inside[:, None] & (c < last)[None, :])


@triton.jit
def _dots(x_v, x_r, y_v, y_r, REST: tl.constexpr):
    """The products of rows of x and of y, each of the columns of v and the rest."""
    s = tl.dot(x_v, tl.trans(y_v), input_precision="ieee")
    if REST:
        s = tl.dot(x_r, tl.trans(y_r), s, input_precision="ieee")
    return s


@triton.jit
def _sees(r, j, heads, seq_kv, shift, CAUSAL: tl.constexpr):
    """Which rows, heads of queries, see which keys."""
    sees = (j < seq_kv)[None, :] & (r >= 0)[:, None]
    if CAUSAL:
        sees = sees & (j[None, :] <= (r // heads)[:, None] + shift)
    return sees


@triton.jit
def _mla_fwd_kernel(q_ptr, kv_ptr, o_ptr, lse_ptr, seq_q, heads, seq_kv, n, n_v, scale, q_b, q_s, q_h, q_d,
                    c_b, c_s, c_d, CAUSAL: tl.constexpr, REST: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
                    DV: tl.constexpr, DR: tl.constexpr):
    """M rows of o and lse. scale counts powers of two."""
    b = tl.program_id(1).to(tl.int64)
    r = tl.program_id(0) * M + tl.arange(0, M)
    inside, shift = r < seq_q * heads, seq_kv - seq_q
    at = q_ptr + b * q_b + (r // heads).to(tl.int64) * q_s + (r % heads).to(tl.int64) * q_h
    q_v, q_r = _part(at, inside, 0, n_v, q_d, DV), _part(at, inside, n_v, n, q_d, DR)
    end = seq_kv
    if CAUSAL:
        end = tl.minimum(seq_kv, (tl.program_id(0) * M + M - 1) // heads + 1 + shift)
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, DV], tl.float32)
    for start in range(0, end, N):
        j = start + tl.arange(0, N)
        row = kv_ptr + b * c_b + j.to(tl.int64) * c_s
        c_v, c_r = _part(row, j < seq_kv, 0, n_v, c_d, DV), _part(row, j < seq_kv, n_v, n, c_d, DR)
        s = _dots(q_v, q_r, c_v, c_r, REST)
        s = tl.where(_sees(r, j, heads, seq_kv, shift, CAUSAL), s * scale, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        base = tl.where(m_new == float("-inf"), 0.0, m_new)  # -inf - -inf would be NaN
        p = tl.exp2(s - base[:, None])
        decay = tl.exp2(m - base)
        l = l * decay + tl.sum(p, axis=1)
        acc = tl.dot(p.to(c_v.dtype), c_v, acc * decay[:, None], input_precision="ieee")
        m = m_new
    sees = (r // heads + shift >= 0 if CAUSAL else r >= 0) & (seq_kv > 0)
    o = tl.where(sees[:, None], acc / l[:, None], 0.0)
    # where every score is -inf there is no mean
    lse = tl.where(m == float("-inf"), float("nan"), (m + tl.log2(l)) / 1.4426950408889634)
    out = b * seq_q * heads + r
    _store(o_ptr + out * n_v, o, inside, 0, n_v, DV)
    tl.store(lse_ptr + (b * heads + r % heads) * seq_q + r // heads, tl.where(sees, lse, float("-inf")),
             mask=inside)


@triton.jit
def _mla_delta_kernel(o_ptr, do_ptr, delta_ptr, rows, seq_q, heads, n_v, o_b, o_s, o_h, o_d, do_b, do_s, do_h,
                      do_d, M: tl.constexpr, DV: tl.constexpr):
    """delta = sum(grad_o * o) of M rows, [batch, seq_q, heads]."""
    row = (tl.program_id(0) * M + tl.arange(0, M)).to(tl.int64)
    b, i, h = row // heads // seq_q, row // heads % seq_q, row % heads
    o = _part(o_ptr + b * o_b + i * o_s + h * o_h, row < rows, 0, n_v, o_d, DV)
    do = _part(do_ptr + b * do_b + i * do_s + h * do_h, row < rows, 0, n_v, do_d, DV)
    tl.store(delta_ptr + row, tl.sum(o.to(tl.float32) * do.to(tl.float32), axis=1), mask=row < rows)


@triton.jit
def _mla_bwd_kernel(q_ptr, kv_ptr, do_ptr, lse_ptr, delta_ptr, grad_ptr, seq_q, heads, seq_kv, n, n_v, scale,
                    q_b, q_s, q_h, q_d, c_b, c_s, c_d, do_b, do_s, do_h, do_d, lse_b, lse_h, lse_s,
                    OF_KEYS: tl.constexpr, CAUSAL: tl.constexpr, REST: tl.constexpr, M: tl.constexpr,
                    N: tl.constexpr, DV: tl.constexpr, DR: tl.constexpr):
    """grad_q of M rows, over the keys in steps of N; OF_KEYS: grad_kv of N keys, over the rows in steps of
    M."""
    b, first = tl.program_id(1).to(tl.int64), tl.program_id(0) * (N if OF_KEYS else M)
    shift, begin, end = seq_kv - seq_q, 0, seq_q * heads if OF_KEYS else seq_kv
    if CAUSAL and OF_KEYS:
        begin = tl.maximum(first - shift, 0) * heads // M * M
    elif CAUSAL:
        end = tl.minimum(end, (first + M - 1) // heads + 1 + shift)
    g_v = tl.zeros([N if OF_KEYS else M, DV], tl.float32)
    g_r = tl.zeros([N if OF_KEYS else M, DR], tl.float32)
    for start in range(begin, end, M if OF_KEYS else N):
        r = (start if OF_KEYS else first) + tl.arange(0, M)
        j = (first if OF_KEYS else start) + tl.arange(0, N)
        i, h, inside = (r // heads).to(tl.int64), (r % heads).to(tl.int64), r < seq_q * heads
        at, row = q_ptr + b * q_b + i * q_s + h * q_h, kv_ptr + b * c_b + j.to(tl.int64) * c_s
        q_v, q_r = _part(at, inside, 0, n_v, q_d, DV), _part(at, inside, n_v, n, q_d, DR)
        c_v, c_r = _part(row, j < seq_kv, 0, n_v, c_d, DV), _part(row, j < seq_kv, n_v, n, c_d, DR)
        do = _part(do_ptr + b * do_b + i * do_s + h * do_h, inside, 0, n_v, do_d, DV)
        lse = tl.load(lse_ptr + b * lse_b + h * lse_h + i * lse_s, mask=inside, other=float("-inf"))
        delta = tl.load(delta_ptr + b * seq_q * heads + r, mask=inside, other=0.0)
        # where lse = -inf, P = 0
        weight = tl.where(lse == float("-inf"), float("inf"), lse * 1.4426950408889634)
        p = tl.exp2(_dots(q_v, q_r, c_v, c_r, REST) * (scale * 1.4426950408889634) - weight[:, None])
        sees = _sees(r, j, heads, seq_kv, shift, CAUSAL) & inside[:, None]
        p = tl.where(sees, p, 0.0)
        ds = p * (tl.dot(do, tl.trans(c_v), input_precision="ieee") - delta[:, None])
        ds = (tl.where(sees, ds, 0.0) * scale).to(c_v.dtype)
        if OF_KEYS:
            g_v = tl.dot(tl.trans(ds), q_v, g_v, input_precision="ieee")
            g_v = tl.dot(tl.trans(p.to(do.dtype)), do, g_v, input_precision="ieee")
            if REST:
                g_r = tl.dot(tl.trans(ds), q_r, g_r, input_precision="ieee")
        else:
            g_v = tl.dot(ds, c_v, g_v, input_precision="ieee")
            if REST:
                g_r = tl.dot(ds, c_r, g_r, input_precision="ieee")
    to = first + tl.arange(0, N if OF_KEYS else M)
    out = grad_ptr + (b * (seq_kv if OF_KEYS else seq_q * heads) + to) * n
    inside = to < (seq_kv if OF_KEYS else seq_q * heads)
    _store(out, g_v, inside, 0, n_v, DV)
    if REST:
        _store(out, g_r, inside, n_v, n, DR)


def _plan(q, rows: int, keys: int, head_dim_v: int, backward: bool) -> dict[str, int]:
    """The tile of a program, rows and keys, and what it holds of a latent row."""
    rest = q.shape[3] - head_dim_v
    if INTERPRETED:
        m, n = (max(16, min(128, next_power_of_2(x))) for x in (rows, keys))
    elif q.dtype == torch.float32:
        m, n = 16, 16
    else:
        m, n = (32, 32) if backward else (64, 32)
    return {"REST": rest > 0, "M": m, "N": n, "DV": max(16, next_power_of_2(head_dim_v)),
            "DR": max(16, next_power_of_2(rest)), "num_warps": 8, "num_stages": 1}


def forward(q, kv, *, causal, scale, head_dim_v):
    """q [batch, seq_q, heads, head_dim], kv [batch, seq_kv, head_dim] -> o [batch, seq_q, heads, head_dim_v]
    of q's dtype, lse [batch, heads, seq_q] fp32."""
    (batch, seq_q, heads, n), seq_kv = q.shape, kv.shape[1]
    o = q.new_empty((batch, seq_q, heads, head_dim_v))
    lse = torch.empty((batch, heads, seq_q), dtype=torch.float32, device=q.device)
    if lse.numel():
        plan = _plan(q, seq_q * heads, seq_kv, head_dim_v, False)
        _mla_fwd_kernel[ceildiv(seq_q * heads, plan["M"]), batch](
            q, kv, o, lse, seq_q, heads, seq_kv, n, head_dim_v, scale * 1.4426950408889634, *q.stride(),
            *kv.stride(), CAUSAL=causal, **plan)
    return o, lse


def backward(q, kv, o, lse, grad_o, *, causal, scale, head_dim_v):
    """The forward's inputs and outputs and grad_o of o's shape -> grad_q, grad_kv of the shapes and dtypes of
    q, kv."""
    (batch, seq_q, heads, n), seq_kv = q.shape, kv.shape[1]
    grad_q, grad_kv = (torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, kv))
    rows, plan = seq_q * heads, _plan(q, seq_q * heads, seq_kv, head_dim_v, True)
    delta = torch.empty((batch, seq_q, heads), dtype=torch.float32, device=q.device)
    if batch * rows:
        _mla_delta_kernel[(ceildiv(batch * rows, plan["M"]),)](
            o, grad_o, delta, batch * rows, seq_q, heads, head_dim_v, *o.stride(), *grad_o.stride(),
            M=plan["M"], DV=plan["DV"])
    for grad, tiles, of_keys in ((grad_q, ceildiv(rows, plan["M"]), False),
                                 (grad_kv, ceildiv(seq_kv, plan["N"]), True)):
        if grad.numel():
            _mla_bwd_kernel[tiles, batch](
                q, kv, grad_o, lse, delta, grad, seq_q, heads, seq_kv, n, head_dim_v, scale, *q.stride(),
                *kv.stride(), *grad_o.stride(), *lse.stride(), OF_KEYS=of_keys, CAUSAL=causal, **plan)
    return grad_q, grad_kv


def _accepts_tiled(direction, q, *rest, head_dim_v, **attributes):
    n = q.shape[3]
    if n % 16 or head_dim_v % 16 or n > 576:
        return (f"mla/triton/tiled: head_dim {n} and head_dim_v {head_dim_v} are not multiples of 16, at "
                f"most 576")
    if n <= 256:
        return too_old(q.device, "a block, with 112 KB of shared memory,", (8, 0))
    return too_old(q.device, "a block, with 200 KB of shared memory for so long rows,", (9, 0), (12, 0))


# ---- torch


def _weights(q, kv, causal: bool, scale: float):
    """In fp32, or fp64 where q is: latent rows, scaled scores [batch, seq_q, heads, seq_kv], -inf of what is
    not seen, and which queries see a key."""
    q, c = (x if x.dtype == torch.float64 else x.float() for x in (q, kv))
    s = (q.flatten(1, 2) @ c.transpose(1, 2)).unflatten(1, q.shape[1:3]) * scale
    j, i = (torch.arange(x.shape[1], device=q.device) for x in (kv, q))
    visible = (j <= i[:, None] + len(j) - len(i)) if causal else j >= torch.zeros_like(i)[:, None]
    return c, s.masked_fill(~visible[:, None, :], -math.inf), visible.any(1)[:, None, None]


def reference(q, kv, *, causal, scale, head_dim_v):
    """The formula in torch: o in the dtype of q, and lse; differentiable."""
    if not q.numel() or not kv.numel():
        wide = torch.float64 if q.dtype == torch.float64 else torch.float32
        lse = torch.full((q.shape[0], q.shape[2], q.shape[1]), -math.inf, dtype=wide, device=q.device)
        return q.new_zeros((*q.shape[:3], head_dim_v)), lse
    c, s, seen = _weights(q, kv, causal, scale)
    m = torch.where(seen, s.detach().amax(3, keepdim=True), 0)
    p = torch.exp(s - m)
    total = torch.where(seen, p.sum(3, keepdim=True), 1)
    o = ((p / total).flatten(1, 2) @ c[..., :head_dim_v]).unflatten(1, q.shape[1:3])
    lse = torch.where(seen, m + total.log(), -math.inf)
    return o.to(q.dtype).contiguous(), lse[..., 0].transpose(1, 2).contiguous()


def reference_backward(q, kv, o, lse, grad_o, *, causal, scale, head_dim_v):
    """The backward formula in torch, on saved tensors."""
    c, s, _ = _weights(q, kv, causal, scale)
    weight = lse.transpose(1, 2)[..., None]
    p = torch.where((s == -math.inf) | (weight == -math.inf), 0.0, torch.exp(s - weight)).flatten(1, 2)
    do, v = grad_o.to(c.dtype).flatten(1, 2), c[..., :head_dim_v]
    delta = (do * o.to(c.dtype).flatten(1, 2)).sum(-1, keepdim=True)
    ds = p * (do @ v.transpose(1, 2) - delta)
    grad_kv = scale * (ds.transpose(1, 2) @ q.to(c.dtype).flatten(1, 2))
    grad_kv[..., :head_dim_v] += p.transpose(1, 2) @ do
    return (scale * (ds @ c)).unflatten(1, q.shape[1:3]).to(q.dtype), grad_kv.to(q.dtype)


_OUTPUTS, _GRADIENTS = ("o", "lse"), ("grad_q", "grad_kv")

IMPLEMENTATIONS = [
    Implementation("triton/tiled", forward, backward, outputs=_OUTPUTS, gradients=_GRADIENTS,
                   contract=sixteen_bit("p16"), accepts=_accepts_tiled,
                   constraint="head_dim and head_dim_v multiples of 16, at most 576; a GPU of capability 9.0 "
                              "or higher, below 12.0"),
    differentiable_row("torch/eager", reference, 2, DIFFERENTIABLE, _OUTPUTS, _GRADIENTS,
                       contract=sixteen_bit("p16")),
    *beside_peers(differentiable_row("torch/compile", compile_for(reference), 2, DIFFERENTIABLE, _OUTPUTS,
                                     _GRADIENTS, compiled=True, contract=sixteen_bit("p16"))),
]
