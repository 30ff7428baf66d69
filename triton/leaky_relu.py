"""leaky_relu: y = x where x > 0, else slope * x
backward: grad_x = grad_y where x > 0, else slope * grad_y

Layout   x, y and the gradients: [n], contiguous. fp32, fp16, bf16; every value inside is fp32.
Limits   n = 0 launches nothing.
Special  NaN stays NaN; the gradient at NaN and at 0 is slope * dy.
Source   Maas et al. 2013, Rectifier Nonlinearities Improve Neural Network Acoustic Models
  triton/block   a block of elements per program
  torch/eager    torch.nn.functional.leaky_relu, one kernel, which computes in fp32
  torch/compile  the same through Inductor
"""

import torch
import torch.nn.functional as F

from elementwise import fill, rows
from implementation import tl, triton

DIFFERENTIABLE = (0,)  # of the inputs of reference


@triton.jit
def _leaky_relu_fwd_kernel(x_ptr, y_ptr, n, slope, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    y = tl.where(x > 0.0, x, slope * x)
    tl.store(y_ptr + i, y.to(y_ptr.dtype.element_ty), mask=i < n)


@triton.jit
def _leaky_relu_bwd_kernel(x_ptr, dy_ptr, dx_ptr, n, slope, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    dx = tl.where(x > 0.0, dy, slope * dy)
    tl.store(dx_ptr + i, dx.to(dx_ptr.dtype.element_ty), mask=i < n)


def forward(x, *, slope):
    """x [n] -> y [n] of its dtype."""
    return fill(_leaky_relu_fwd_kernel, x, slope=slope)


def backward(x, grad_y, *, slope):
    """x, grad_y [n] -> grad_x [n]."""
    return fill(_leaky_relu_bwd_kernel, x, grad_y, slope=slope)


def reference(x, *, slope):
    """The formula in torch, in the dtype of x; differentiable."""
    return F.leaky_relu(x, slope)


def reference_backward(x, grad_y, *, slope):
    """The backward formula in torch."""
    return torch.where(x > 0, grad_y, slope * grad_y)


IMPLEMENTATIONS = rows(forward, backward, reference)
