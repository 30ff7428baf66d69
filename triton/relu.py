"""relu: y = 0 where x <= 0, else x
backward: grad_x = 0 where x <= 0, else grad_y

Layout   x, y and the gradients: [n], contiguous. fp32, fp16, bf16; every value inside is fp32.
Limits   n = 0 launches nothing.
Special  NaN stays NaN, which fmaxf(x, 0) does not do; the gradient at NaN is dy, and at 0 it is 0.
Source   Nair and Hinton 2010, Rectified Linear Units Improve Restricted Boltzmann Machines
  triton/block   a block of elements per program
  torch/eager    torch.nn.functional.relu, one kernel, which computes in fp32
  torch/compile  the same through Inductor
"""

import torch
import torch.nn.functional as F

from elementwise import fill, rows
from implementation import tl, triton

DIFFERENTIABLE = (0,)  # of the inputs of reference


@triton.jit
def _relu_fwd_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    y = tl.where(x <= 0.0, 0.0, x)
    tl.store(y_ptr + i, y.to(y_ptr.dtype.element_ty), mask=i < n)


@triton.jit
def _relu_bwd_kernel(x_ptr, dy_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    dx = tl.where(x <= 0.0, 0.0, dy)
    tl.store(dx_ptr + i, dx.to(dx_ptr.dtype.element_ty), mask=i < n)


def forward(x):
    """x [n] -> y [n] of its dtype."""
    return fill(_relu_fwd_kernel, x)


def backward(x, grad_y):
    """x, grad_y [n] -> grad_x [n]."""
    return fill(_relu_bwd_kernel, x, grad_y)


def reference(x):
    """The formula in torch, in the dtype of x; differentiable."""
    return F.relu(x)


def reference_backward(x, grad_y):
    """The backward formula in torch."""
    return torch.where(x <= 0, 0, grad_y)


IMPLEMENTATIONS = rows(forward, backward, reference)
