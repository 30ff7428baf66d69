"""Attention of libraries, as rows of an operator: torch's scaled_dot_product_attention, with its own choice
of kernel or a fixed one, with masks aligned bottom-right and queries that see no key; flash-attn-4."""

from __future__ import annotations

import functools
import warnings
from contextlib import suppress

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


def blind_queries(q, k, causal: bool) -> int:
    """Returns how many of the first queries see no key. The torch functions leave them out, because softmax
    over nothing is NaN, and so is its gradient."""
    seq_q, seq_kv = q.shape[2], k.shape[2]
    return seq_q if seq_kv == 0 else max(0, seq_q - seq_kv) if causal else 0


def no_output(q, v) -> torch.Tensor:
    """Returns o of queries that see no key."""
    return torch.zeros((*q.shape[:3], v.shape[3]), dtype=q.dtype, device=q.device)


def visible(seq_q: int, seq_kv: int, device) -> torch.Tensor:
    """Returns a mask [seq_q, seq_kv], true where key j <= i + seq_kv - seq_q."""
    return torch.ones((seq_q, seq_kv), dtype=torch.bool, device=device).tril(seq_kv - seq_q)


def _masking(q, k, causal: bool, blind: int):
    """Returns the arguments of torch's attention: the queries that see a key, a mask, and is_causal. torch
    aligns is_causal top-left, so it is used only for equal lengths."""
    seeing, seq_kv = q[:, :, blind:], k.shape[2]
    aligned = causal and seeing.shape[2] == seq_kv
    return seeing, visible(seeing.shape[2], seq_kv, q.device) if causal and not aligned else None, aligned


def attention(q, k, v, *, causal, scale):
    """Returns o of torch's attention."""
    blind = blind_queries(q, k, causal)
    if blind == q.shape[2]:
        return no_output(q, v)
    seeing, mask, aligned = _masking(q, k, causal, blind)
    o = F.scaled_dot_product_attention(seeing, k, v, attn_mask=mask, is_causal=aligned, scale=scale,
                                       enable_gqa=q.shape[1] != k.shape[1])
    if o is None:
        raise TypeError("scaled_dot_product_attention returned None")
    return (F.pad(o, (0, 0, blind, 0)) if blind else o).contiguous()  # padding by nothing would copy


def reads_whole_vectors(direction, *tensors, causal, scale):
    """Returns None, or the sentence for a declined call: torch's GPU kernels read 16 bytes at once without
    testing alignment, which gives a fault or NaN."""
    if tensors[0].device.type == "cuda":
        for name, t in zip("qkv", tensors):
            rows = [s for s, n in zip(t.stride()[:-1], t.shape) if n > 1]
            if t.data_ptr() % 16 or t.stride(-1) == 1 and any(s * t.itemsize % 16 for s in rows):
                return f"torch's attention: {name} has rows that do not begin at a multiple of 16 bytes"
    return None


_TAKEN = {SDPBackend.FLASH_ATTENTION: torch.backends.cuda.can_use_flash_attention,
          SDPBackend.EFFICIENT_ATTENTION: torch.backends.cuda.can_use_efficient_attention,
          SDPBackend.CUDNN_ATTENTION: torch.backends.cuda.can_use_cudnn_attention}

_HEADINGS = {SDPBackend.FLASH_ATTENTION: "flash", SDPBackend.EFFICIENT_ATTENTION: "memory efficient",
             SDPBackend.CUDNN_ATTENTION: "cudnn"}


def held_to(backend: SDPBackend):
    """Returns attention with a fixed kernel."""
    def forward(q, k, v, **attributes):
        with sdpa_kernel(backend):
            return attention(q, k, v, **attributes)
    return forward


def _reasons(backend: SDPBackend, warned: list[str]) -> str:
    """Returns why torch does not take this kernel, from its warnings about each kernel."""
    heading, ours, reasons = " not used because:", False, []
    for sentence in (text.partition("(Triggered internally")[0].strip() for text in warned):
        if sentence.endswith(heading):
            ours = sentence.lower().startswith(_HEADINGS[backend])
        elif ours:
            reasons.append(sentence.rstrip("."))
    return "; ".join(reasons)


@functools.cache
def _untaken(backend: SDPBackend, backward: bool, tensors: tuple, dtype: torch.dtype, device: torch.device,
             causal: bool, scale: float) -> str:
    """Returns why torch's attention does not take this kernel, in torch's words, "" if it does. tensors are
    shapes and strides of q, k and v; the test uses temporary tensors of these."""
    extents = [1 + sum((n - 1) * s for n, s in zip(shape, stride)) if all(shape) else 0 for shape,
               stride in tensors]
    memory = torch.zeros(max(extents), dtype=dtype, device=device)
    q, k, v = (memory.as_strided(shape, stride).requires_grad_(backward) for shape, stride in tensors)
    blind = blind_queries(q, k, causal)
    if blind == q.shape[2]:
        return ""  # torch's attention is not called
    seeing, mask, aligned = _masking(q, k, causal, blind)
    asked = torch.backends.cuda.SDPAParams(seeing, k, v, mask, 0.0, aligned, q.shape[1] != k.shape[1])
    with sdpa_kernel(backend):
        if _TAKEN[backend](asked):
            return ""
        with warnings.catch_warnings(record=True) as warned, suppress(RuntimeError):
            # torch gives the reasons at the call, which then launches nothing
            warnings.simplefilter("always")
            F.scaled_dot_product_attention(seeing, k, v, mask, 0.0, aligned, scale=scale,
                                           enable_gqa=q.shape[1] != k.shape[1])
    why = _reasons(backend, [str(w.message) for w in warned])
    wide = "" if v.shape == k.shape else f", v {list(v.shape)}"
    return (f"{backend.name} does not take q {list(q.shape)}, k {list(k.shape)}{wide} in {q.dtype}"
            + (f": {why}" if why else ""))


def accepts_held_to(backend: SDPBackend):
    """Returns the accepts of a row with a fixed kernel of torch's attention."""
    def accepts(direction, *tensors, causal, scale):
        if why := reads_whole_vectors(direction, *tensors, causal=causal, scale=scale):
            return why
        q = tensors[0]
        kinds = tuple((tuple(t.shape), tuple(t.stride())) for t in tensors[:3])
        return _untaken(backend, direction == "backward", kinds, q.dtype, q.device, causal, scale) or None
    return accepts


# ---- flash-attn-4


def fa4_forward(q, k, v, *, causal, scale):
    """Returns o and lse. The library takes [batch, seq, heads, head_dim] with any strides but the last, and
    writes into the given outputs, so nothing is copied."""
    from flash_attn.cute.interface import _flash_attn_fwd
    o = torch.empty((*q.shape[:3], v.shape[3]), dtype=q.dtype, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    _flash_attn_fwd(*(t.transpose(1, 2) for t in (q, k, v)), softmax_scale=scale, causal=causal,
                    return_lse=True, out=o.transpose(1, 2), lse=lse)
    return o, lse


def fa4_backward(q, k, v, o, lse, grad_o, *, causal, scale):
    """Returns grad_q, grad_k and grad_v."""
    from flash_attn.cute.interface import _flash_attn_bwd
    grads = tuple(torch.empty(t.shape, dtype=t.dtype, device=t.device) for t in (q, k, v))
    q, k, v, o, grad_o, *into = (t.transpose(1, 2) for t in (q, k, v, o, grad_o, *grads))
    _flash_attn_bwd(q, k, v, o, grad_o, lse.contiguous(), softmax_scale=scale, causal=causal, dq=into[0],
                    dk=into[1], dv=into[2])
    return grads


def accepts_fa4(direction, q, k, v, *rest, causal, scale):
    head_dim, head_dim_v = q.shape[3], v.shape[3]
    for name, n in (("head_dim", head_dim), ("head_dim_v", head_dim_v)):
        if n % 8 or not 8 <= n <= 256:
            return f"fa4/kernel: {name} {n} is not a multiple of 8 in 8..256"
    if direction == "backward" and head_dim != head_dim_v and q.shape[1] != k.shape[1]:
        return "fa4/kernel: its backward with head_dim_v other than head_dim has no shared key heads"
    if q.device.type != "cuda" or torch.cuda.get_device_capability(q.device)[0] < 9:
        return "fa4/kernel: it needs compute capability 9.0 or higher"
    return None if q.numel() and k.numel() else "fa4/kernel: an empty tensor"
