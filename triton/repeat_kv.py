"""repeat_kv: y[b, h * groups + g] = k[b, h] for g < groups
backward: grad_k[b, h] = the sum over g of grad_y[b, h * groups + g]

Layout   k: [batch, heads_kv, seq, head_dim]; y: [batch, heads_kv * groups, seq, head_dim]; contiguous. fp32,
         fp16, bf16; the forward moves elements, the backward adds them up in fp32.
Limits   batch or seq = 0 launches nothing.
Source   Ainslie et al. 2023, arXiv:2305.13245
  triton/block   a block of a head's elements per program, read once and written for each copy
  torch/eager    torch.repeat_interleave
  torch/compile  the same through Inductor
"""

import torch

from elementwise import BLOCK, rows
from implementation import ceildiv, next_power_of_2, tl, triton

DIFFERENTIABLE = (0,)  # of the inputs of reference


@triton.jit
def _repeat_kv_fwd_kernel(k_ptr, y_ptr, n, groups, BLOCK: tl.constexpr):
    head, i = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.load(k_ptr + head * n + i, mask=i < n)
    for g in range(groups):
        tl.store(y_ptr + (head * groups + g) * n + i, k, mask=i < n)


@triton.jit
def _repeat_kv_bwd_kernel(dy_ptr, dk_ptr, n, groups, BLOCK: tl.constexpr):
    head, i = tl.program_id(0).to(tl.int64), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for g in range(groups):
        total += tl.load(dy_ptr + (head * groups + g) * n + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(dk_ptr + head * n + i, total.to(dk_ptr.dtype.element_ty), mask=i < n)


def _over_heads(kernel, source, target, groups):
    heads, n = source.shape[0] * min(source.shape[1], target.shape[1]), source.shape[2] * source.shape[3]
    if heads * n:
        block = min(BLOCK, next_power_of_2(n))
        kernel[heads, ceildiv(n, block)](source, target, n, groups, BLOCK=block)
    return target


def forward(k, *, groups):
    """k [batch, heads_kv, seq, head_dim] -> y [batch, heads_kv * groups, seq, head_dim]."""
    y = k.new_empty((k.shape[0], k.shape[1] * groups, *k.shape[2:]))
    return _over_heads(_repeat_kv_fwd_kernel, k, y, groups)


def backward(grad_y, *, groups):
    """grad_y [batch, heads_kv * groups, seq, head_dim] -> grad_k [batch, heads_kv, seq, head_dim]."""
    grad_k = grad_y.new_empty((grad_y.shape[0], grad_y.shape[1] // groups, *grad_y.shape[2:]))
    return _over_heads(_repeat_kv_bwd_kernel, grad_y, grad_k, groups)


def reference(k, *, groups):
    """The formula in torch; differentiable."""
    return torch.repeat_interleave(k, groups, 1).contiguous()


def reference_backward(grad_y, *, groups):
    """The backward formula in torch."""
    return grad_y.unflatten(1, (-1, groups)).sum(2)


IMPLEMENTATIONS = rows(forward, backward, reference, ("grad_k",))
