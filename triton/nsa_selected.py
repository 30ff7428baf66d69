"""nsa_selected: o = g_slc * softmax(scale * q k^T) v over the tokens up to the query's own of the blocks that
indices gives it, plus g_swa * the same over the last `window` tokens
backward, in each of the two, with P = softmax, delta = sum(grad_o * o), dS = P * (grad_o . v - delta):
    grad_g = delta; grad_q = scale * g * dS k; grad_k = scale * (g * dS)^T q; grad_v = (g * P)^T grad_o

Layout   q [batch, seq, heads, head_dim], k and v [batch, seq, heads_kv, head_dim or head_dim_v], indices
         [batch, seq, heads_kv, selected] int32, -1 for none, g_slc and g_swa [batch, seq, heads], grad_o as
         o, any strides; o [batch, seq, heads, head_dim_v] and gradients contiguous. fp32 (products in IEEE
         fp32), fp16, bf16 (P and dS are multiplied in the dtype: contract p16); every other value is fp32.
Unseen   keys are not read: they may be NaN. A sum over no key is 0. batch and seq may be 0.
Limits   triton: head_dim and head_dim_v at most 256; a group of at most 64 heads
Source   Yuan et al. 2025, arXiv:2502.11089; fla-org, flash-linear-attention, ops/nsa
  triton/tiled   the heads of a query that share a key head are the rows of a tile; backward: a kernel over
                 queries, then one over keys that asks each query for the block
  torch/eager    the keys of each query gathered, products in fp32
  fla/kernel     flash-linear-attention's kernels, gate and rows without a key by torch; no window

torch.compile has no row: it takes minutes to compile this formula.
"""

import math

import torch

from fla_nsa import selected_row
from implementation import (
    INTERPRETED,
    Implementation,
    ceildiv,
    differentiable_row,
    gradients,
    next_power_of_2,
    sixteen_bit,
    tl,
    triton,
)

DIFFERENTIABLE = (0, 1, 2, 4, 5)  # of the inputs of reference


@triton.jit
def _rows(at, inside, stride, n, W: tl.constexpr):
    """Rows at those addresses, a matrix of them, of n elements, W in all; 0 where they are not inside."""
    c = tl.arange(0, W)[None, None, :]
    return tl.load(at[:, :, None] + c * stride, mask=inside[:, :, None] & (c < n), other=0.0)


@triton.jit
def _store(at, x, inside, n, W: tl.constexpr):
    c = tl.arange(0, W)[None, None, :]
    tl.store(at[:, :, None] + c, x.to(at.dtype.element_ty), mask=inside[:, :, None] & (c < n))


@triton.jit
def _dot(x, y):
    """The products of the matrices of x and of y."""
    if x.shape[0] == 1:
        flat = tl.dot(tl.reshape(x, (x.shape[1], x.shape[2])), tl.reshape(y, (y.shape[1], y.shape[2])),
                      input_precision="ieee")
        return tl.reshape(flat, (1, x.shape[1], y.shape[2]))
    return tl.dot(x, y, input_precision="ieee")


@triton.jit
def _turned(x):
    return tl.permute(x, (0, 2, 1))


@triton.jit
def _run(i, idx, stride, t, inside, selected, size, window):
    """Of each query t, of which the addresses of its blocks are idx: the keys that it sees of the i-th block,
    the first and one past the last; after the blocks those of its window."""
    block = tl.load(idx + i * stride, mask=inside & (i < selected), other=0)
    first = tl.where(i < selected, tl.maximum(block, 0) * size, tl.maximum(t + 1 - window, 0))
    last = tl.minimum(tl.where(i < selected, first + size, t + 1), t + 1)
    return first, tl.where(inside & (block >= 0), last, first)


@triton.jit
def _tile(k_at, v_at, first, start, last, k_s, k_d, v_s, v_d, n, n_v, N: tl.constexpr, D: tl.constexpr,
          DV: tl.constexpr):
    """Of each query N keys and values of a run that ends before last, and which of them are there."""
    j = first[:, None] + start + tl.arange(0, N)[None, :]
    there = j < last[:, None]
    k = _rows(k_at + j.to(tl.int64) * k_s, there, k_d, n, D)
    return there[:, None, :], k, _rows(v_at + j.to(tl.int64) * v_s, there, v_d, n_v, DV)


@triton.jit
def _nsa_rows_kernel(q_ptr, k_ptr, v_ptr, idx_ptr, slc_ptr, swa_ptr, do_ptr, o_ptr, dq_ptr, dslc_ptr,
                     dswa_ptr, saved_ptr, seq, heads, heads_kv, n, n_v, selected, size, window, scale, q_b,
                     q_s, q_h, q_d, k_b, k_s, k_h, k_d, v_b, v_s, v_h, v_d, i_b, i_s, i_h, i_n, g_b, g_s, g_h,
                     w_b, w_s, w_h, do_b, do_s, do_h, do_d, GRADIENT: tl.constexpr, T: tl.constexpr,
                     M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, DV: tl.constexpr):
    """The heads of T queries that share a key head: o, or with GRADIENT grad_q, the gradients of the gates,
    and in saved lse (of base 2) and delta of both sums. scale counts powers of two."""
    b, hk, group = (tl.program_id(1) // heads_kv).to(tl.int64), tl.program_id(1) % heads_kv, heads // heads_kv
    t = tl.program_id(0) * T + tl.arange(0, T)
    at, h = t.to(tl.int64)[:, None], (hk * group + tl.arange(0, M))[None, :]
    inside = (t < seq)[:, None] & (tl.arange(0, M) < group)[None, :]
    row = (b * seq + at) * heads + h
    q = _rows(q_ptr + b * q_b + at * q_s + h * q_h, inside, q_d, n, D)
    idx = idx_ptr + b * i_b + t.to(tl.int64) * i_s + hk * i_h
    k_at, v_at = k_ptr + b * k_b + hk * k_h, v_ptr + b * v_b + hk * v_h
    out, dq = tl.zeros([T, M, DV], tl.float32), tl.zeros([T, M, D], tl.float32)
    if GRADIENT:
        do = _rows(do_ptr + b * do_b + at * do_s + h * do_h, inside, do_d, n_v, DV)
    for branch in tl.static_range(2):
        gate_at = (slc_ptr + b * g_b + at * g_s + h * g_h) if branch == 0 else (
            swa_ptr + b * w_b + at * w_s + h * w_h)
        gate = tl.load(gate_at, mask=inside, other=0.0).to(tl.float32)[:, :, None]
        m, l = tl.full([T, M], float("-inf"), tl.float32), tl.zeros([T, M], tl.float32)
        acc, seen = tl.zeros([T, M, DV], tl.float32), t < 0  # a query that sees no key has 0
        begin, end = (0 if branch == 0 else selected), (selected if branch == 0 else selected + 1)
        for i in range(begin, end):
            first, last = _run(i, idx, i_n, t, t < seq, selected, size, window)
            seen = seen | (first < last)
            for start in range(0, tl.max(last - first, axis=0), N):
                there, k, v = _tile(k_at, v_at, first, start, last, k_s, k_d, v_s, v_d, n, n_v, N, D, DV)
                s = tl.where(there, _dot(q, _turned(k)) * scale, float("-inf"))
                m_new = tl.maximum(m, tl.max(s, axis=2))
                base = tl.where(m_new == float("-inf"), 0.0, m_new)  # -inf - -inf would be NaN
                p, decay = tl.exp2(s - base[:, :, None]), tl.exp2(m - base)
                l = l * decay + tl.sum(p, axis=2)
                acc = acc * decay[:, :, None] + _dot(p.to(v.dtype), v)
                m = m_new
        o = tl.where(seen[:, None, None], acc / l[:, :, None], 0.0)
        if not GRADIENT:
            out += tl.where(seen[:, None, None], gate * o, 0.0)
        else:
            lse, delta = m + tl.log2(l), tl.sum(o * do.to(tl.float32), axis=2)
            tl.store(saved_ptr + row * 4 + branch * 2, lse, mask=inside)
            tl.store(saved_ptr + row * 4 + branch * 2 + 1, delta, mask=inside)
            to = dslc_ptr if branch == 0 else dswa_ptr
            tl.store(to + row, delta.to(to.dtype.element_ty), mask=inside)
            for i in range(begin, end):
                first, last = _run(i, idx, i_n, t, t < seq, selected, size, window)
                for start in range(0, tl.max(last - first, axis=0), N):
                    there, k, v = _tile(k_at, v_at, first, start, last, k_s, k_d, v_s, v_d, n, n_v, N, D, DV)
                    p = tl.exp2(_dot(q, _turned(k)) * scale - lse[:, :, None])
                    ds = p * (_dot(do, _turned(v)) - delta[:, :, None]) * gate * (scale / 1.4426950408889634)
                    dq += _dot(tl.where(there & inside[:, :, None], ds, 0.0).to(k.dtype), k)
    if GRADIENT:
        _store(dq_ptr + row * n, dq, inside, n, D)
    else:
        _store(o_ptr + row * n_v, out, inside, n_v, DV)


@triton.jit
def _nsa_keys_kernel(q_ptr, k_ptr, v_ptr, idx_ptr, slc_ptr, swa_ptr, do_ptr, saved_ptr, dk_ptr, dv_ptr, seq,
                     heads, heads_kv, n, n_v, selected, size, window, scale, q_b, q_s, q_h, q_d, k_b, k_s,
                     k_h, k_d, v_b, v_s, v_h, v_d, i_b, i_s, i_h, i_n, g_b, g_s, g_h, w_b, w_s, w_h, do_b,
                     do_s, do_h, do_d, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, DV: tl.constexpr,
                     S: tl.constexpr):
    """grad_k and grad_v of N keys of one block, over the heads of the queries that see one of them, M at a
    time."""
    tiles, group = (size + N - 1) // N, heads // heads_kv
    b, hk = (tl.program_id(1) // heads_kv).to(tl.int64), tl.program_id(1) % heads_kv
    block, part = tl.program_id(0) // tiles, tl.program_id(0) % tiles * N
    first, end = block * size + part, tl.minimum((block + 1) * size, seq)
    j = (first + tl.arange(0, N))[None, :]
    k = _rows(k_ptr + b * k_b + j.to(tl.int64) * k_s + hk * k_h, j < end, k_d, n, D)
    v = _rows(v_ptr + b * v_b + j.to(tl.int64) * v_s + hk * v_h, j < end, v_d, n_v, DV)
    dk, dv = tl.zeros([1, N, D], tl.float32), tl.zeros([1, N, DV], tl.float32)
    for start in range(first * group, seq * group if first < end else 0, M):
        r = start + tl.arange(0, M)
        t, h = (r // group).to(tl.int64), hk * group + r % group
        idx, places = idx_ptr + b * i_b + t * i_s + hk * i_h, tl.arange(0, S)[None, :]
        chosen = tl.load(idx[:, None] + places * i_n, mask=(t < seq)[:, None] & (places < selected), other=-1)
        hit = tl.max((chosen == block).to(tl.int32), axis=1) > 0
        near = (t < seq) & (t - (tl.minimum(first + N, end) - 1) < window)
        if tl.max((hit | near).to(tl.int32), axis=0) > 0:
            row, inside = (b * seq + t) * heads + h, (t < seq)[None, :]
            q = _rows((q_ptr + b * q_b + t * q_s + h * q_h)[None, :], inside, q_d, n, D)
            do = _rows((do_ptr + b * do_b + t * do_s + h * do_h)[None, :], inside, do_d, n_v, DV)
            s, dp = _dot(q, _turned(k)) * scale, _dot(do, _turned(v))
            weight, ds = tl.zeros([1, M, N], tl.float32), tl.zeros([1, M, N], tl.float32)
            for branch in tl.static_range(2):
                gate_at = (slc_ptr + b * g_b + t * g_s + h * g_h) if branch == 0 else (
                    swa_ptr + b * w_b + t * w_s + h * w_h)
                gate = tl.load(gate_at, mask=t < seq, other=0.0).to(tl.float32)
                lse = tl.load(saved_ptr + row * 4 + branch * 2, mask=t < seq, other=0.0)
                delta = tl.load(saved_ptr + row * 4 + branch * 2 + 1, mask=t < seq, other=0.0)
                sees = (j <= t[:, None]) & (j < end) & (t < seq)[:, None]
                sees = sees & (hit[:, None] if branch == 0 else (t[:, None] - j < window))
                p = tl.exp2(s - lse[None, :, None]) * gate[None, :, None]
                weight += tl.where(sees[None, :, :], p, 0.0)
                ds += tl.where(sees[None, :, :], p * (dp - delta[None, :, None]), 0.0)
            dv += _dot(_turned(weight).to(do.dtype), do)
            # where q is not finite, no P of its row is a number: 0 * NaN must not reach keys it does not see
            finite = tl.where(tl.abs(q.to(tl.float32)) < float("inf"), q, 0.0).to(q.dtype)
            dk += _dot(_turned(ds * (scale / 1.4426950408889634)).to(q.dtype), finite)
    out = (b * seq + j) * heads_kv + hk
    _store(dk_ptr + out * n, dk, j < end, n, D)
    _store(dv_ptr + out * n_v, dv, j < end, n_v, DV)


def _plan(q, v, heads_kv: int, size: int) -> dict[str, int]:
    """The tile of a program, heads and keys, and the lengths of rows."""
    wide, most, least = max(q.shape[3], v.shape[3]) > 128, 128, 1  # the interpreter multiplies any tile
    if not INTERPRETED:
        most, least = 16 if q.dtype == torch.float32 else 32 if wide else 64, 16
    return {"M": max(least, next_power_of_2(q.shape[2] // heads_kv)),
            "N": max(least, min(next_power_of_2(size), most)), "D": max(16, next_power_of_2(q.shape[3])),
            "DV": max(16, next_power_of_2(v.shape[3])), "num_warps": 4, "num_stages": 1}


def _queries(q, heads_kv: int) -> int:
    """How many queries are in a program: few programs are fast in the interpreter."""
    if not INTERPRETED or q.shape[0] * q.shape[1] * heads_kv <= 4:
        return 1
    return min(16, next_power_of_2(q.shape[1]))


def _arguments(q, k, v, indices, g_slc, g_swa, do, block_size, window, scale):
    """What both kernels take behind their tensors: sizes, then strides."""
    sizes = (q.shape[1], q.shape[2], k.shape[2], q.shape[3], v.shape[3], indices.shape[3], block_size,
             min(window, q.shape[1]), scale * 1.4426950408889634)
    return (*sizes, *q.stride(), *k.stride(), *v.stride(), *indices.stride(), *g_slc.stride(),
            *g_swa.stride(), *do.stride())


def forward(q, k, v, indices, g_slc, g_swa, *, block_size, window, scale):
    """q [batch, seq, heads, head_dim], k, v [batch, seq, heads_kv, ...], indices [batch, seq, heads_kv,
    selected], gates [batch, seq, heads] -> o [batch, seq, heads, head_dim_v] of q's dtype."""
    o = q.new_empty((*q.shape[:3], v.shape[3]))
    if o.numel():
        queries = _queries(q, k.shape[2])
        _nsa_rows_kernel[ceildiv(q.shape[1], queries), q.shape[0] * k.shape[2]](
            q, k, v, indices, g_slc, g_swa, o, o, o, o, o, o,
            *_arguments(q, k, v, indices, g_slc, g_swa, o, block_size, window, scale), GRADIENT=False,
            T=queries, **_plan(q, v, k.shape[2], block_size))
    return o


def backward(q, k, v, indices, g_slc, g_swa, grad_o, *, block_size, window, scale):
    """The forward's inputs and grad_o -> grad_q, grad_k, grad_v, grad_g_slc, grad_g_swa."""
    grads = [torch.empty(x.shape, dtype=x.dtype, device=x.device) for x in (q, k, v, g_slc, g_swa)]
    if q.numel():
        saved = torch.empty((*q.shape[:3], 4), dtype=torch.float32, device=q.device)
        inputs, plan = (q, k, v, indices, g_slc, g_swa, grad_o), _plan(q, v, k.shape[2], block_size)
        rest = _arguments(*inputs, block_size, window, scale)
        over, queries = q.shape[0] * k.shape[2], _queries(q, k.shape[2])
        _nsa_rows_kernel[ceildiv(q.shape[1], queries), over](
            *inputs, grad_o, grads[0], *grads[3:], saved, *rest, GRADIENT=True, T=queries, **plan)
        tiles = ceildiv(q.shape[1], block_size) * ceildiv(block_size, plan["N"])
        plan["M"] = min(512, next_power_of_2(q.shape[1] * 16)) if INTERPRETED else 16
        _nsa_keys_kernel[tiles, over](*inputs, saved, grads[1], grads[2], *rest,
                                      S=next_power_of_2(indices.shape[3]), **plan)
    return tuple(grads)


def _accepts_tiled(direction, q, k, *rest, **attributes):
    group = q.shape[2] // k.shape[2]
    return f"nsa_selected/triton/tiled: {group} heads share a key head, more than 64" if group > 64 else None


# ---- torch

MOST_GATHERED = 1 << 26  # elements of k at a time


def _softmax(q, k, v, j, sees, scale):
    """softmax(scale * q k^T) v of q [batch, n, heads_kv, group, dim] over those of the keys j [batch, n,
    heads_kv, keys] that it sees; 0 over none."""
    b = torch.arange(q.shape[0], device=q.device)[:, None, None, None]
    h = torch.arange(q.shape[2], device=q.device)[None, None, :, None]
    j = torch.where(sees, j, 0)
    keys, values = (x[b, j, h].masked_fill(~sees[..., None], 0) for x in (k, v))
    s = (q @ keys.transpose(3, 4) * scale).masked_fill(~sees[..., None, :], -math.inf)
    some = sees.any(3)[..., None, None]
    p = torch.exp(s - torch.where(some, s.detach().amax(4, keepdim=True), 0))
    return (p / torch.where(some, p.sum(4, keepdim=True), 1)) @ values


def reference(q, k, v, indices, g_slc, g_swa, *, block_size, window, scale):
    """The formula in torch: o in the dtype of q; differentiable."""
    (batch, seq, heads, n), heads_kv, size = q.shape, k.shape[2], block_size
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    rows, keys, values = q.to(wide).unflatten(2, (heads_kv, heads // heads_kv)), k.to(wide), v.to(wide)
    widest = max(indices.shape[3] * size, min(window, seq), 1) * max(batch * heads_kv * n, 1)
    parts = [q.new_zeros((batch, 0, heads, v.shape[3]), dtype=wide)]
    for t in torch.arange(seq, device=q.device).split(max(1, MOST_GATHERED // widest)):
        at, own = indices[:, t].long(), t[None, :, None, None]
        blocks = (at[..., None] * size + torch.arange(size, device=q.device)).flatten(3)
        chosen = (at >= 0)[..., None].expand(*at.shape, size).flatten(3) & (blocks <= own)
        near = own - torch.arange(min(window, seq), device=q.device)
        near = near.expand(batch, len(t), heads_kv, -1)
        o = 0
        for j, sees, gate in ((blocks, chosen, g_slc), (near, near >= 0, g_swa)):
            if j.shape[3]:
                part = _softmax(rows[:, t], keys, values, j, sees, scale).flatten(2, 3)
                o = o + gate[:, t, :, None].to(wide) * part
        parts.append(o)
    return torch.cat(parts, 1).to(q.dtype).contiguous()


def reference_backward(q, k, v, indices, g_slc, g_swa, grad_o, **attributes):
    """The gradients of the formula, which saves nothing."""
    return gradients(reference, (q, k, v, indices, g_slc, g_swa), (grad_o,), DIFFERENTIABLE, **attributes)


_NAMES = {"outputs": ("o",), "contract": sixteen_bit("p16"),
          "gradients": ("grad_q", "grad_k", "grad_v", "grad_g_slc", "grad_g_swa")}

IMPLEMENTATIONS = [
    Implementation("triton/tiled", forward, backward, accepts=_accepts_tiled,
                   constraint="at most 64 heads to a key head", **_NAMES),
    differentiable_row("torch/eager", reference, 6, DIFFERENTIABLE, **_NAMES),
    selected_row(_NAMES),
]
