"""hardtanh: y = low where x <= low, high where x >= high, else x
backward: grad_x = 0 where x <= low or x >= high, else grad_y

Layout   x, y and the gradients: [n], contiguous. fp32, fp16, bf16; every value inside is fp32.
Limits   n = 0 launches nothing.
Special  NaN stays NaN, which fminf and fmaxf do not do; the gradient at NaN is dy, and at both bounds it is
         0.
Source   Collobert 2004, Large Scale Machine Learning, section 2.3
  triton/block   a block of elements per program
  torch/eager    torch.nn.functional.hardtanh, one kernel, which computes in fp32
  torch/compile  the same through Inductor
"""

import torch
import torch.nn.functional as F

from elementwise import fill, rows
from implementation import tl, triton

DIFFERENTIABLE = (0,)  # of the inputs of reference


@triton.jit
def _hardtanh_fwd_kernel(x_ptr, y_ptr, n, low, high, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    y = tl.where(x <= low, low, tl.where(x >= high, high, x))
    tl.store(y_ptr + i, y.to(y_ptr.dtype.element_ty), mask=i < n)


@triton.jit
def _hardtanh_bwd_kernel(x_ptr, dy_ptr, dx_ptr, n, low, high, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    dx = tl.where((x <= low) | (x >= high), 0.0, dy)
    tl.store(dx_ptr + i, dx.to(dx_ptr.dtype.element_ty), mask=i < n)


def forward(x, *, low, high):
    """x [n] -> y [n] of its dtype."""
    return fill(_hardtanh_fwd_kernel, x, low=low, high=high)


def backward(x, grad_y, *, low, high):
    """x, grad_y [n] -> grad_x [n]."""
    return fill(_hardtanh_bwd_kernel, x, grad_y, low=low, high=high)


def reference(x, *, low, high):
    """The formula in torch, in the dtype of x; differentiable."""
    return F.hardtanh(x, low, high)


def reference_backward(x, grad_y, *, low, high):
    """The backward formula in torch."""
    return torch.where((x <= low) | (x >= high), 0, grad_y)


IMPLEMENTATIONS = rows(forward, backward, reference)
