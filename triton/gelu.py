"""gelu: y = x * Phi(x), Phi the normal distribution function: x/2 * (1 + erf(x/sqrt(2)))
or with approximate = tanh: y = x/2 * (1 + tanh(z)), z = sqrt(2/pi) * (x + 0.044715 x^3)

Layout   x, y and the gradients: [n], contiguous. fp32, fp16, bf16; every value inside is fp32.
Limits   n = 0 launches nothing.
Source   Hendrycks and Gimpel 2016, arXiv:1606.08415
  triton/block   a block of elements per program; tanh(z) by a sigmoid of 2z
  torch/eager    torch.nn.functional.gelu, one kernel, which computes in fp32
  torch/compile  the same through Inductor
"""

import math

import torch

from elementwise import fill, rows
from implementation import tl, triton

DIFFERENTIABLE = (0,)  # of the inputs of reference


@triton.jit
def _gelu_fwd_kernel(x_ptr, y_ptr, n, TANH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    if TANH:
        z = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        y = x * (1.0 / (1.0 + tl.exp(-2.0 * z)))
    else:
        y = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(y_ptr + i, y.to(y_ptr.dtype.element_ty), mask=i < n)


@triton.jit
def _gelu_bwd_kernel(x_ptr, dy_ptr, dx_ptr, n, TANH: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    if TANH:
        z = 0.7978845608028654 * (x + 0.044715 * x * x * x)
        s = 1.0 / (1.0 + tl.exp(-2.0 * z))
        slope = s + x * (s * (1.0 - s)) * (2.0 * 0.7978845608028654 * (1.0 + 3.0 * 0.044715 * x * x))
    else:
        slope = 0.5 * (1.0 + tl.erf(x * 0.7071067811865476)) + x * 0.3989422804014327 * tl.exp(-0.5 * x * x)
    tl.store(dx_ptr + i, (dy * slope).to(dx_ptr.dtype.element_ty), mask=i < n)


def forward(x, *, approximate):
    """x [n] -> y [n] of its dtype; approximate is "none" or "tanh"."""
    return fill(_gelu_fwd_kernel, x, TANH=approximate == "tanh")


def backward(x, grad_y, *, approximate):
    """x, grad_y [n] -> grad_x [n]."""
    return fill(_gelu_bwd_kernel, x, grad_y, TANH=approximate == "tanh")


def reference(x, *, approximate):
    """The formula in torch, in the dtype of x; differentiable."""
    return torch.nn.functional.gelu(x, approximate=approximate)


def reference_backward(x, grad_y, *, approximate):
    """The backward formula in torch."""
    if approximate == "tanh":
        t = torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x))
        slope = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
        return grad_y * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * slope)
    phi = 0.5 * (1 + torch.erf(x * math.sqrt(0.5)))
    return grad_y * (phi + x * torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi))


IMPLEMENTATIONS = rows(forward, backward, reference)
