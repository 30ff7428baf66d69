"""silu: y = x * sigmoid(x)
backward, with s = sigmoid(x): grad_x = grad_y * s * (1 + x * (1 - s))

Layout   x, y and the gradients: [n], contiguous. fp32, fp16, bf16; every value inside is fp32.
Limits   n = 0 launches nothing.
Source   Elfwing et al. 2017, arXiv:1702.03118
  triton/block   a block of elements per program
  torch/eager    torch.nn.functional.silu, one kernel, which computes in fp32
  torch/compile  the same through Inductor
"""

import torch
import torch.nn.functional as F

from elementwise import fill, rows
from implementation import tl, triton

DIFFERENTIABLE = (0,)  # of the inputs of reference


@triton.jit
def _silu_fwd_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    y = x * (1.0 / (1.0 + tl.exp(-x)))
    tl.store(y_ptr + i, y.to(y_ptr.dtype.element_ty), mask=i < n)


@triton.jit
def _silu_bwd_kernel(x_ptr, dy_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    s = 1.0 / (1.0 + tl.exp(-x))
    tl.store(dx_ptr + i, (dy * (s * (1.0 + x * (1.0 - s)))).to(dx_ptr.dtype.element_ty), mask=i < n)


def forward(x):
    """x [n] -> y [n] of its dtype."""
    return fill(_silu_fwd_kernel, x)


def backward(x, grad_y):
    """x, grad_y [n] -> grad_x [n]."""
    return fill(_silu_bwd_kernel, x, grad_y)


def reference(x):
    """The formula in torch, in the dtype of x; differentiable."""
    return F.silu(x)


def reference_backward(x, grad_y):
    """The backward formula in torch."""
    s = torch.sigmoid(x)
    return grad_y * s * (1 + x * (1 - s))


IMPLEMENTATIONS = rows(forward, backward, reference)
