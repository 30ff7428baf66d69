"""flash_attention: o = softmax(scale * q k^T) v, row by row, with lse = log sum_j exp(scale * q k^T), natural
backward, with P = exp(scale * q k^T - lse), delta = sum(grad_o * o) and dS = P * (grad_o v^T - delta):
    grad_q = scale * dS k, grad_k = scale * dS^T q, grad_v = P^T grad_o,
    grad_k and grad_v summed over the query heads that share a key head

Layout   q, o [batch, heads_q, seq_q, head_dim], k, v [batch, heads_kv, seq_kv, head_dim], lse [batch,
         heads_q, seq_q] fp32. Query head h reads key head h / (heads_q / heads_kv). Inputs with any strides,
         outputs contiguous. fp32 (products in IEEE fp32), fp16, bf16 (P and dS are multiplied in the dtype:
         contract p16); every other value inside is fp32.
Causal   is aligned bottom-right: key j is visible to query i iff j <= i + seq_kv - seq_q. A row that sees no
         key has o = 0, lse = -inf, and all its gradients are 0; where lse = -inf, P = 0.
Limits   triton: head_dim a multiple of 8 in 16..256. batch, seq_q, seq_kv may be 0.
Source   Dao et al. 2022, arXiv:2205.14135; Dao 2023, arXiv:2307.08691
  triton/tiled    a tile of queries per program, keys in steps; backward: a kernel each over queries and keys
  torch/sdpa      torch.nn.functional.scaled_dot_product_attention, its choice of kernel
  torch/eager     the written composition (contract eager in 16 bits)
  torch/cudnn, torch/flash, torch/efficient   sdpa held to that kernel; these and torch/compile on a GPU only
  fa4/kernel      flash-attn-4's CuTe kernels, 16 bits; head_dim a multiple of 8
"""

import functools
import warnings
from contextlib import suppress

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from implementation import (
    INTERPRETED,
    Implementation,
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

DIFFERENTIABLE = (0, 1, 2)  # of the inputs of reference


@triton.jit
def _attention_fwd_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, heads, group, seq_q, seq_kv, head_dim, scale,
                          q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d,
                          CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """o and lse of M queries of one head."""
    bh = tl.program_id(1).to(tl.int64)
    batch = bh // heads
    head = bh % heads
    i = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + batch * q_b + head * q_h + i.to(tl.int64)[:, None] * q_s + d[None, :] * q_d,
                mask=(i < seq_q)[:, None] & (d < head_dim)[None, :], other=0.0)
    k_ptr += batch * k_b + (head // group) * k_h
    v_ptr += batch * v_b + (head // group) * v_h
    shift = seq_kv - seq_q
    stop = seq_kv
    if CAUSAL:
        stop = tl.minimum(seq_kv, (tl.program_id(0) + 1) * M + shift)
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for start in range(0, stop, N):
        j = start + tl.arange(0, N)
        inside = (j < seq_kv)[:, None] & (d < head_dim)[None, :]
        k = tl.load(k_ptr + j.to(tl.int64)[:, None] * k_s + d[None, :] * k_d, mask=inside, other=0.0)
        v = tl.load(v_ptr + j.to(tl.int64)[:, None] * v_s + d[None, :] * v_d, mask=inside, other=0.0)
        visible = (j < seq_kv)[None, :]
        if CAUSAL:
            visible = visible & (j[None, :] <= i[:, None] + shift)
        s = tl.where(visible, tl.dot(q, tl.trans(k), input_precision="ieee") * scale, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        # As long as a row has seen no key there is nothing to rescale, and -inf - -inf would be NaN.
        base = tl.where(m_new == float("-inf"), 0.0, m_new)
        p = tl.exp(s - base[:, None])
        rescale = tl.exp(m - base)
        l = l * rescale + tl.sum(p, axis=1)
        acc = tl.dot(p.to(v.dtype), v, acc * rescale[:, None], input_precision="ieee")
        m = m_new
    sees = (i >= 0) & (seq_kv > 0)
    if CAUSAL:
        sees = i + shift >= 0
    o = tl.where(sees[:, None], acc / l[:, None], 0.0)
    lse = tl.where(sees, m + tl.log(l), float("-inf"))
    row = bh * seq_q + i
    tl.store(o_ptr + row[:, None] * head_dim + d[None, :], o.to(o_ptr.dtype.element_ty),
             mask=(i < seq_q)[:, None] & (d < head_dim)[None, :])
    tl.store(lse_ptr + row, lse, mask=i < seq_q)


@triton.jit
def _attention_delta_kernel(o_ptr, do_ptr, delta_ptr, heads, seq_q, head_dim, o_b, o_h, o_s, o_d, do_b, do_h,
                            do_s, do_d, M: tl.constexpr, D: tl.constexpr):
    """delta = sum(grad_o * o) of M queries of one head."""
    bh = tl.program_id(1).to(tl.int64)
    i = (tl.program_id(0) * M + tl.arange(0, M)).to(tl.int64)
    d = tl.arange(0, D)
    inside = (i < seq_q)[:, None] & (d < head_dim)[None, :]
    o = tl.load(o_ptr + (bh // heads) * o_b + (bh % heads) * o_h + i[:, None] * o_s + d[None, :] * o_d,
                mask=inside, other=0.0).to(tl.float32)
    do = tl.load(do_ptr + (bh // heads) * do_b + (bh % heads) * do_h + i[:, None] * do_s + d[None, :] * do_d,
                 mask=inside, other=0.0).to(tl.float32)
    tl.store(delta_ptr + bh * seq_q + i, tl.sum(o * do, axis=1), mask=i < seq_q)


@triton.jit
def _attention_bwd_q_kernel(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, heads, group, seq_q,
                            seq_kv, head_dim, scale,
                            q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, do_b, do_h, do_s,
                            do_d, lse_b, lse_h, lse_s,
                            CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """grad_q of M queries of one head."""
    bh = tl.program_id(1).to(tl.int64)
    batch = bh // heads
    head = bh % heads
    i = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    row = i.to(tl.int64)[:, None]
    inside_q = (i < seq_q)[:, None] & (d < head_dim)[None, :]
    q = tl.load(q_ptr + batch * q_b + head * q_h + row * q_s + d[None, :] * q_d, mask=inside_q, other=0.0)
    do = tl.load(do_ptr + batch * do_b + head * do_h + row * do_s + d[None, :] * do_d, mask=inside_q,
                 other=0.0)
    lse = tl.load(lse_ptr + batch * lse_b + head * lse_h + i.to(tl.int64) * lse_s, mask=i < seq_q,
                  other=float("-inf"))
    delta = tl.load(delta_ptr + bh * seq_q + i, mask=i < seq_q, other=0.0)
    k_ptr += batch * k_b + (head // group) * k_h
    v_ptr += batch * v_b + (head // group) * v_h
    shift = seq_kv - seq_q
    stop = seq_kv
    if CAUSAL:
        stop = tl.minimum(seq_kv, (tl.program_id(0) + 1) * M + shift)
    dq = tl.zeros([M, D], tl.float32)
    for start in range(0, stop, N):
        j = start + tl.arange(0, N)
        inside = (j < seq_kv)[:, None] & (d < head_dim)[None, :]
        k = tl.load(k_ptr + j.to(tl.int64)[:, None] * k_s + d[None, :] * k_d, mask=inside, other=0.0)
        v = tl.load(v_ptr + j.to(tl.int64)[:, None] * v_s + d[None, :] * v_d, mask=inside, other=0.0)
        visible = (j < seq_kv)[None, :] & (lse != float("-inf"))[:, None]
        if CAUSAL:
            visible = visible & (j[None, :] <= i[:, None] + shift)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        p = tl.where(visible, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = tl.where(visible, p * (dp - delta[:, None]), 0.0)
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
    out = dq_ptr + (bh * seq_q + i)[:, None] * head_dim + d[None, :]
    tl.store(out, (dq * scale).to(dq_ptr.dtype.element_ty), mask=inside_q)


@triton.jit
def _attention_bwd_kv_kernel(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, heads_kv, group,
                             seq_q, seq_kv, head_dim, scale,
                             q_b, q_h, q_s, q_d, k_b, k_h, k_s, k_d, v_b, v_h, v_s, v_d, do_b, do_h, do_s,
                             do_d, lse_b, lse_h, lse_s,
                             CAUSAL: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """grad_k and grad_v of N keys of one head, summed over the group of query heads that read it."""
    bh = tl.program_id(1).to(tl.int64)
    batch = bh // heads_kv
    head_kv = bh % heads_kv
    j = tl.program_id(0) * N + tl.arange(0, N)
    d = tl.arange(0, D)
    inside_kv = (j < seq_kv)[:, None] & (d < head_dim)[None, :]
    k = tl.load(k_ptr + batch * k_b + head_kv * k_h + j.to(tl.int64)[:, None] * k_s + d[None, :] * k_d,
                mask=inside_kv, other=0.0)
    v = tl.load(v_ptr + batch * v_b + head_kv * v_h + j.to(tl.int64)[:, None] * v_s + d[None, :] * v_d,
                mask=inside_kv, other=0.0)
    shift = seq_kv - seq_q
    begin = 0
    if CAUSAL:
        begin = tl.maximum(tl.program_id(0) * N - shift, 0)
    dk = tl.zeros([N, D], tl.float32)
    dv = tl.zeros([N, D], tl.float32)
    for member in range(0, group):
        head = head_kv * group + member
        for start in range(begin, seq_q, M):
            i = start + tl.arange(0, M)
            row = i.to(tl.int64)[:, None]
            inside = (i < seq_q)[:, None] & (d < head_dim)[None, :]
            q = tl.load(q_ptr + batch * q_b + head * q_h + row * q_s + d[None, :] * q_d,
                        mask=inside, other=0.0)
            do = tl.load(do_ptr + batch * do_b + head * do_h + row * do_s + d[None, :] * do_d,
                         mask=inside, other=0.0)
            lse = tl.load(lse_ptr + batch * lse_b + head * lse_h + i.to(tl.int64) * lse_s, mask=i < seq_q,
                          other=float("-inf"))
            delta = tl.load(delta_ptr + (batch * heads_kv * group + head) * seq_q + i, mask=i < seq_q,
                            other=0.0)
            visible = (j < seq_kv)[:, None] & (lse != float("-inf"))[None, :]
            if CAUSAL:
                visible = visible & (j[:, None] <= i[None, :] + shift)
            s = tl.dot(k, tl.trans(q), input_precision="ieee") * scale
            p = tl.where(visible, tl.exp(s - lse[None, :]), 0.0)
            dv = tl.dot(p.to(do.dtype), do, dv, input_precision="ieee")
            dp = tl.dot(v, tl.trans(do), input_precision="ieee")
            ds = tl.where(visible, p * (dp - delta[None, :]), 0.0)
            dk = tl.dot(ds.to(q.dtype), q, dk, input_precision="ieee")
    out = (bh * seq_kv + j)[:, None] * head_dim + d[None, :]
    tl.store(dk_ptr + out, (dk * scale).to(dk_ptr.dtype.element_ty), mask=inside_kv)
    tl.store(dv_ptr + out, dv.to(dv_ptr.dtype.element_ty), mask=inside_kv)


def _tile(head_dim: int, dtype: torch.dtype, backward: bool) -> tuple[int, int]:
    """Queries and keys of a step on a GPU: what registers and shared memory hold, less for wide heads and for
    the backward. IEEE products of fp32 take no tensor core: their tiles are small, or the compiler unrolls
    for half a minute."""
    narrow = head_dim <= 128
    if dtype == torch.float32:
        return ((32, 32) if narrow else (16, 16)) if backward else ((64, 32) if narrow else (32, 16))
    if backward:
        return (64, 64) if head_dim <= 64 else (64, 32) if narrow else (32, 32)
    return (128, 64) if narrow else (64, 32)


def _steps(q, k, backward: bool) -> tuple[int, int]:
    """Queries and keys of a step; the interpreter takes up to 128 of each, and no more than there are."""
    if INTERPRETED:
        return min(128, next_power_of_2(q.shape[2])), min(128, next_power_of_2(k.shape[2]))
    return _tile(q.shape[3], q.dtype, backward)


def forward(q, k, v, *, causal, scale):
    """q [batch, heads_q, seq_q, head_dim], k, v [batch, heads_kv, seq_kv, head_dim] -> o of q's shape and
    dtype, lse [batch, heads_q, seq_q] fp32."""
    batch, heads, seq_q, head_dim = q.shape
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty((batch, heads, seq_q), dtype=torch.float32, device=q.device)
    if lse.numel():
        m, n = _steps(q, k, False)
        _attention_fwd_kernel[(ceildiv(seq_q, m), batch * heads)](
            q, k, v, o, lse, heads, heads // k.shape[1], seq_q, k.shape[2], head_dim, scale, *q.stride(),
            *k.stride(), *v.stride(),
            CAUSAL=causal, M=m, N=n, D=next_power_of_2(head_dim), num_warps=4 if head_dim <= 64
            else 8, num_stages=2)
    return o, lse


def backward(q, k, v, o, lse, grad_o, *, causal, scale):
    """The forward's inputs and outputs and grad_o of o's shape -> grad_q, grad_k, grad_v of the shapes and
    dtypes of q, k, v."""
    (batch, heads, seq_q, head_dim), (_, heads_kv, seq_kv, _) = q.shape, k.shape
    group, width = heads // heads_kv, next_power_of_2(head_dim)
    grad_q = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    grad_k = torch.empty(k.shape, dtype=k.dtype, device=k.device)
    grad_v = torch.empty(v.shape, dtype=v.dtype, device=v.device)
    delta = torch.empty((batch, heads, seq_q), dtype=torch.float32, device=q.device)
    m, n = _steps(q, k, True)
    strides = (*q.stride(), *k.stride(), *v.stride(), *grad_o.stride(), *lse.stride())
    options = {"CAUSAL": causal, "M": m, "N": n, "D": width, "num_warps": 4 if head_dim <= 64 else 8,
               "num_stages": 1}
    if delta.numel():
        grid = (ceildiv(seq_q, m), batch * heads)
        _attention_delta_kernel[grid](o, grad_o, delta, heads, seq_q, head_dim, *o.stride(), *grad_o.stride(),
                                      M=m, D=width)
        _attention_bwd_q_kernel[grid](q, k, v, grad_o, lse, delta, grad_q, heads, group, seq_q, seq_kv,
                                      head_dim, scale, *strides, **options)
    if grad_k.numel():
        _attention_bwd_kv_kernel[(ceildiv(seq_kv, n), batch * heads_kv)](q, k, v, grad_o, lse, delta, grad_k,
            grad_v, heads_kv, group, seq_q, seq_kv,
                                                                         head_dim, scale, *strides, **options)
    return grad_q, grad_k, grad_v


def _accepts_tiled(direction, q, *rest, causal, scale):
    head_dim = q.shape[3]
    if not (16 <= head_dim <= 256 and head_dim % 8 == 0):
        return f"flash_attention/triton/tiled: head_dim {head_dim} is not a multiple of 8 in 16..256"
    return too_old(q.device, "a block, with 96 KB of shared memory,", (8, 0))


# ---- flash-attn-4


def _fa4_forward(q, k, v, *, causal, scale):
    """It takes [batch, seq, heads, head_dim], with any strides but the last, and writes into what it is
    given: nothing is copied."""
    from flash_attn.cute.interface import _flash_attn_fwd
    o = torch.empty(q.shape, dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    _flash_attn_fwd(*(t.transpose(1, 2) for t in (q, k, v)), softmax_scale=scale, causal=causal,
                    return_lse=True, out=o.transpose(1, 2), lse=lse)
    return o, lse


def _fa4_backward(q, k, v, o, lse, grad_o, *, causal, scale):
    from flash_attn.cute.interface import _flash_attn_bwd
    grads = tuple(torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v))
    q, k, v, o, grad_o, *into = (t.transpose(1, 2) for t in (q, k, v, o, grad_o, *grads))
    _flash_attn_bwd(q, k, v, o, grad_o, lse.contiguous(), softmax_scale=scale, causal=causal, dq=into[0],
                    dk=into[1], dv=into[2])
    return grads


def _accepts_fa4(direction, q, k, *rest, causal, scale):
    head_dim = q.shape[3]
    if head_dim % 8 or not 8 <= head_dim <= 256:
        return f"flash_attention/fa4/kernel: head_dim {head_dim} is not a multiple of 8 in 8..256"
    if q.device.type != "cuda" or torch.cuda.get_device_capability(q.device)[0] < 9:
        return "flash_attention/fa4/kernel: it needs compute capability 9.0 or higher"
    return None if q.numel() and k.numel() else "flash_attention/fa4/kernel: an empty tensor"


# ---- torch


def _blind(q, k, causal: bool) -> int:
    """How many of the first queries see no key. The torch functions leave them out: softmax over nothing is
    NaN, and so would its gradient be."""
    seq_q, seq_kv = q.shape[2], k.shape[2]
    return seq_q if seq_kv == 0 else max(0, seq_q - seq_kv) if causal else 0


def _mask(seq_q: int, seq_kv: int, device) -> torch.Tensor:
    """[seq_q, seq_kv], true where key j <= i + seq_kv - seq_q."""
    return torch.ones((seq_q, seq_kv), dtype=torch.bool, device=device).tril(seq_kv - seq_q)


def _scores(q, k, causal: bool, scale: float):
    """Scaled, masked scores of every query head, in q's dtype."""
    s = (q @ k.repeat_interleave(q.shape[1] // k.shape[1], 1).transpose(2, 3)) * scale
    return s.masked_fill(~_mask(q.shape[2], k.shape[2], q.device), float("-inf")) if causal else s


def reference(q, k, v, *, causal, scale):
    """The composition in torch, in the dtype of q: o and lse; differentiable."""
    blind = _blind(q, k, causal)
    if blind == q.shape[2]:
        return torch.zeros(q.shape, dtype=q.dtype, device=q.device), torch.full(q.shape[:3], float("-inf"),
            dtype=q.dtype, device=q.device)
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


def _masking(q, k, causal: bool, blind: int):
    """How torch's attention is called: the queries that see a key, a mask, and is_causal, which it aligns
    top-left: it is used for equal lengths alone."""
    seeing, seq_kv = q[:, :, blind:], k.shape[2]
    aligned = causal and seeing.shape[2] == seq_kv
    return seeing, _mask(seeing.shape[2], seq_kv, q.device) if causal and not aligned else None, aligned


def forward_sdpa(q, k, v, *, causal, scale):
    """o of torch's attention."""
    blind = _blind(q, k, causal)
    if blind == q.shape[2]:
        return torch.zeros(q.shape, dtype=q.dtype, device=q.device)
    seeing, mask, aligned = _masking(q, k, causal, blind)
    o = F.scaled_dot_product_attention(seeing, k, v, attn_mask=mask, is_causal=aligned, scale=scale,
                                       enable_gqa=q.shape[1] != k.shape[1])
    if o is None:
        raise TypeError("scaled_dot_product_attention returned None")
    return (F.pad(o, (0, 0, blind, 0)) if blind else o).contiguous()  # to pad by nothing is a copy


def _accepts_sdpa(direction, *tensors, causal, scale):
    """torch's GPU kernels read 16 bytes at once without asking whether they may: a misaligned address, or
    NaN."""
    if tensors[0].device.type == "cuda":
        for name, t in zip("qkv", tensors):
            rows = [s for s, n in zip(t.stride()[:-1], t.shape) if n > 1]
            if t.data_ptr() % 16 or t.stride(-1) == 1 and any(s * t.itemsize % 16 for s in rows):
                return f"flash_attention: {name} has rows that do not begin at a multiple of 16 bytes"
    return None


_TAKEN = {SDPBackend.FLASH_ATTENTION: torch.backends.cuda.can_use_flash_attention,
          SDPBackend.EFFICIENT_ATTENTION: torch.backends.cuda.can_use_efficient_attention,
          SDPBackend.CUDNN_ATTENTION: torch.backends.cuda.can_use_cudnn_attention}

_HEADINGS = {SDPBackend.FLASH_ATTENTION: "flash", SDPBackend.EFFICIENT_ATTENTION: "memory efficient",
             SDPBackend.CUDNN_ATTENTION: "cudnn"}


def _held_to(backend: SDPBackend):
    """forward_sdpa with one of its kernels."""
    def forward(q, k, v, **attributes):
        with sdpa_kernel(backend):
            return forward_sdpa(q, k, v, **attributes)
    return forward


def _reasons(backend: SDPBackend, said: list[str]) -> str:
    """Of what torch warned of, kernel after kernel, why it does not take this one."""
    heading, ours, reasons = " not used because:", False, []
    for sentence in (text.partition("(Triggered internally")[0].strip() for text in said):
        if sentence.endswith(heading):
            ours = sentence.lower().startswith(_HEADINGS[backend])
        elif ours:
            reasons.append(sentence.rstrip("."))
    return "; ".join(reasons)


@functools.cache
def _untaken(backend: SDPBackend, backward: bool, tensors: tuple, dtype: torch.dtype, device: torch.device,
             causal: bool, scale: float) -> str:
    """Why torch's attention does not take this kernel of its own, in torch's words, "" where it does. tensors
    are shapes and strides of q, k and v; torch is asked with memory of its own that has those."""
    extents = [1 + sum((n - 1) * s for n, s in zip(shape, stride)) if all(shape) else 0 for shape,
               stride in tensors]
    memory = torch.zeros(max(extents), dtype=dtype, device=device)
    q, k, v = (memory.as_strided(shape, stride).requires_grad_(backward) for shape, stride in tensors)
    blind = _blind(q, k, causal)
    if blind == q.shape[2]:
        return ""  # torch's attention is not asked
    seeing, mask, aligned = _masking(q, k, causal, blind)
    asked = torch.backends.cuda.SDPAParams(seeing, k, v, mask, 0.0, aligned, q.shape[1] != k.shape[1])
    with sdpa_kernel(backend):
        if _TAKEN[backend](asked):
            return ""
        with warnings.catch_warnings(record=True) as said, suppress(RuntimeError):
            # torch tells the reasons at the call itself, which launches nothing then
            warnings.simplefilter("always")
            F.scaled_dot_product_attention(seeing, k, v, mask, 0.0, aligned, scale=scale,
                                           enable_gqa=q.shape[1] != k.shape[1])
    why = _reasons(backend, [str(w.message) for w in said])
    return (f"{backend.name} does not take q {list(q.shape)}, k {list(k.shape)} in {q.dtype}"
            + (f": {why}" if why else ""))


def _accepts_held_to(backend: SDPBackend):
    """What torch's attention asks before it takes this kernel of its own."""
    def accepts(direction, *tensors, causal, scale):
        if why := _accepts_sdpa(direction, *tensors, causal=causal, scale=scale):
            return why
        q = tensors[0]
        kinds = tuple((tuple(t.shape), tuple(t.stride())) for t in tensors[:3])
        return _untaken(backend, direction == "backward", kinds, q.dtype, q.device, causal, scale) or None
    return accepts


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
                   constraint="head_dim a multiple of 8 in 16..256; a GPU of capability 8.0 or higher"),
    _row("torch/sdpa", forward_sdpa, "p16", accepts=_accepts_sdpa, nondeterministic=_ANY_SUM,
         constraint="on a GPU rows that begin at a multiple of 16 bytes"),
    _row("torch/eager", forward_eager, "eager"),
    Implementation("fa4/kernel", _fa4_forward, _fa4_backward, outputs=("o", "lse"), gradients=_GRADIENTS,
                   contract=sixteen_bit("p16"), dtypes=("fp16", "bf16"),
                   module="flash_attn.cute.interface", accepts=_accepts_fa4, nondeterministic=_GRADIENTS,
                   constraint="head_dim a multiple of 8 in 8..256, compute capability 9.0 or higher, no "
                              "empty tensor"),
]
if torch.cuda.is_available() and not INTERPRETED:
    IMPLEMENTATIONS += [
        _row("torch/cudnn", _held_to(SDPBackend.CUDNN_ATTENTION), "p16",
             accepts=_accepts_held_to(SDPBackend.CUDNN_ATTENTION), nondeterministic=_ATOMIC,
             constraint=_TAKES),
        _row("torch/flash", _held_to(SDPBackend.FLASH_ATTENTION), "p16",
             accepts=_accepts_held_to(SDPBackend.FLASH_ATTENTION), nondeterministic=_ATOMIC,
             constraint=_TAKES),
        _row("torch/efficient", _held_to(SDPBackend.EFFICIENT_ATTENTION), "p16",
             accepts=_accepts_held_to(SDPBackend.EFFICIENT_ATTENTION), nondeterministic=_ANY_SUM,
             constraint=_TAKES),
        # The scores are a product of the dtype. Where Inductor recognises attention it calls sdpa, whose
        # backward adds grad_q up by atomics.
        _row("torch/compile", compile_for(forward_eager), "eager", compiled=True, nondeterministic=_ATOMIC),
    ]
