"""rope: rotary position embedding of queries and keys. For a pair (x1, x2) of a token at position p = offset
+ t and its index i:
    out1 = x1 * cos[p, i] - x2 * sin[p, i],  out2 = x2 * cos[p, i] + x1 * sin[p, i]
The pair is (i, i + head_dim / 2), with interleaved = true (2i, 2i + 1). backward: the rotation by the
negative angle.

Layout   q, k and their gradients: [batch, seq, heads, head_dim]; cos, sin: [max_pos, head_dim / 2] fp32.
         Inputs with any strides, outputs contiguous. fp32, fp16, bf16; every value inside is fp32.
Limits   head_dim is even, offset + seq <= max_pos. batch or seq = 0 launches nothing.
Source   Su et al. 2021, arXiv:2104.09864
  triton/block   a tile of heads of tokens per program, all pairs of a head
  torch/eager    the written composition in the dtype, cos and sin cast to it first (contract eager in 16
                 bits)
  torch/upcast   the same in fp32, rounded once
  torch/compile  torch/upcast through Inductor
  liger/kernel   Liger-Kernel's Triton kernel, not interleaved. It rotates in place: it works on copies
  quack/kernel   quack-kernels' CuTe kernel; head_dim a multiple of 8 up to 512
"""

import torch

from implementation import (
    INTERPRETED,
    Implementation,
    aligned,
    ceildiv,
    compile_for,
    differentiable_row,
    next_power_of_2,
    sixteen_bit,
    tl,
    triton,
)

DIFFERENTIABLE = (0, 1)  # of the inputs of reference
TILE = 65536 if INTERPRETED else 2048  # pairs of a program


@triton.jit
def _rope_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, n, seq, heads, half, offset, x_batch, x_seq, x_head, x_dim,
                 cos_pos, cos_dim, sin_pos, sin_dim,
                 INTERLEAVED: tl.constexpr, INVERSE: tl.constexpr, ROWS: tl.constexpr, PAIRS: tl.constexpr):
    """ROWS of the n = batch * seq * heads vectors, PAIRS >= half pairs each; INVERSE rotates back."""
    r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    i = tl.arange(0, PAIRS).to(tl.int64)[None, :]
    token = r // heads
    t = token % seq
    position = (offset + t)[:, None]
    inside = (r < n)[:, None] & (i < half)
    if INTERLEAVED:
        first = 2 * i
        second = 2 * i + 1
    else:
        first = i
        second = i + half
    base = ((token // seq) * x_batch + t * x_seq + (r % heads) * x_head)[:, None]
    x1 = tl.load(x_ptr + base + first * x_dim, mask=inside, other=0.0).to(tl.float32)
    x2 = tl.load(x_ptr + base + second * x_dim, mask=inside, other=0.0).to(tl.float32)
    cos = tl.load(cos_ptr + position * cos_pos + i * cos_dim, mask=inside, other=1.0)
    sin = tl.load(sin_ptr + position * sin_pos + i * sin_dim, mask=inside, other=0.0)
    if INVERSE:
        sin = -sin
    out = out_ptr + r[:, None] * (2 * half)
    tl.store(out + first, (x1 * cos - x2 * sin).to(out_ptr.dtype.element_ty), mask=inside)
    tl.store(out + second, (x2 * cos + x1 * sin).to(out_ptr.dtype.element_ty), mask=inside)


def _rotate(x, cos, sin, interleaved: bool, offset: int, inverse: bool):
    """x [batch, seq, heads, head_dim] rotated, or rotated back."""
    batch, seq, heads, head_dim = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    n, half = batch * seq * heads, head_dim // 2
    if n:
        pairs = next_power_of_2(half)
        rows = max(1, min(TILE // pairs, next_power_of_2(n)))
        _rope_kernel[(ceildiv(n, rows),)](x, cos, sin, out, n, seq, heads, half, offset, *x.stride(),
                                          *cos.stride(), *sin.stride(),
                                          INTERLEAVED=interleaved, INVERSE=inverse, ROWS=rows, PAIRS=pairs)
    return out


def forward(q, k, cos, sin, *, interleaved, offset):
    """q [batch, seq, heads_q, head_dim], k [batch, seq, heads_k, head_dim] -> q_out, k_out of their
    shapes."""
    return _rotate(q, cos, sin, interleaved, offset, False), _rotate(k, cos, sin, interleaved, offset, False)


def backward(cos, sin, grad_q_out, grad_k_out, *, interleaved, offset):
    """The gradients of q_out and k_out -> grad_q, grad_k of their shapes."""
    return _rotate(grad_q_out, cos, sin, interleaved, offset, True), _rotate(grad_k_out, cos, sin,
        interleaved, offset, True)


def _rotated(x, cos, sin, interleaved: bool, offset: int):
    """The formula in torch for one tensor; cos and sin have its dtype."""
    half, seq = x.shape[-1] // 2, x.shape[1]
    cos = cos[offset:offset + seq, None, :]
    sin = sin[offset:offset + seq, None, :]
    if interleaved:
        x1, x2 = x[..., 0::2], x[..., 1::2]
        return torch.stack((x1 * cos - x2 * sin, x2 * cos + x1 * sin), -1).flatten(-2).contiguous()
    x1, x2 = x[..., :half], x[..., half:]
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), -1).contiguous()


def reference(q, k, cos, sin, *, interleaved, offset):
    """The formula in torch, in the dtype of q, cos and sin cast to it first; differentiable."""
    cos, sin = cos.to(q.dtype), sin.to(q.dtype)
    return _rotated(q, cos, sin, interleaved, offset), _rotated(k, cos, sin, interleaved, offset)


def reference_backward(cos, sin, grad_q_out, grad_k_out, *, interleaved, offset):
    """The backward formula in torch."""
    return reference(grad_q_out, grad_k_out, cos, -sin, interleaved=interleaved, offset=offset)


def forward_upcast(q, k, cos, sin, *, interleaved, offset):
    """q_out, k_out: every value inside fp32, rounded once."""
    q_out, k_out = reference(q.float(), k.float(), cos, sin, interleaved=interleaved, offset=offset)
    return q_out.to(q.dtype), k_out.to(k.dtype)


def _liger(function: str, q, k, cos, sin, offset: int):
    import liger_kernel.ops.rope as rope
    t = slice(offset, offset + q.shape[1])
    heads_first = (x.clone(memory_format=torch.contiguous_format).transpose(1, 2) for x in (q, k))
    out = getattr(rope, function)(*heads_first, cos[t], sin[t], rotary_dim=q.shape[3])
    return out[0].transpose(1, 2), out[1].transpose(1, 2)


def _liger_forward(q, k, cos, sin, *, interleaved, offset):
    return _liger("rope_forward", q, k, cos, sin, offset)


def _liger_backward(cos, sin, grad_q_out, grad_k_out, *, interleaved, offset):
    return _liger("rope_backward", grad_q_out, grad_k_out, cos, sin, offset)


def _accepts_liger(direction, *tensors, interleaved, offset):
    return "rope/liger/kernel: its pairs are (i, i + head_dim / 2), not interleaved" if interleaved else None


def _quack(q, k, cos, sin, interleaved: bool, offset: int, conjugate: bool):
    from quack.rotary import apply_rotary
    cos, sin = (aligned(x[offset:offset + q.shape[1]]) for x in (cos, sin))
    return tuple(apply_rotary(aligned(x), cos, sin, interleaved=interleaved, conjugate=conjugate)
                 for x in (q, k))


def _quack_forward(q, k, cos, sin, *, interleaved, offset):
    return _quack(q, k, cos, sin, interleaved, offset, False)


def _quack_backward(cos, sin, grad_q_out, grad_k_out, *, interleaved, offset):
    return _quack(grad_q_out, grad_k_out, cos, sin, interleaved, offset, True)


def _accepts_quack(direction, *tensors, **attributes):
    head_dim = tensors[2].shape[3] if direction == "backward" else tensors[0].shape[3]
    return (f"rope/quack/kernel: head_dim {head_dim} is not a multiple of 8 up to 512" if head_dim % 8
            or head_dim > 512 else None)


_NAMES = {"outputs": ("q_out", "k_out"), "gradients": ("grad_q", "grad_k")}

IMPLEMENTATIONS = [
    Implementation("triton/block", forward, backward, **_NAMES),
    differentiable_row("torch/eager", reference, 4, DIFFERENTIABLE, contract=sixteen_bit("eager"), **_NAMES),
    differentiable_row("torch/upcast", forward_upcast, 4, DIFFERENTIABLE, **_NAMES),
    differentiable_row("torch/compile", compile_for(forward_upcast), 4, DIFFERENTIABLE, compiled=True,
                       **_NAMES),
    Implementation("liger/kernel", _liger_forward, _liger_backward, module="liger_kernel.ops.rope",
                   accepts=_accepts_liger, constraint="not interleaved",
                   remark="it rotates in place: copies of what it overwrites are in the time", **_NAMES),
    Implementation("quack/kernel", _quack_forward, _quack_backward, module="quack.rotary",
                   accepts=_accepts_quack, constraint="head_dim a multiple of 8 up to 512", **_NAMES),
]
