"""reverse: y[i] = x[n-1-i]
backward: grad_x[i] = grad_y[n-1-i], the reversal of grad_y

Layout   x, y and the gradients: [n], contiguous. fp32, fp16, bf16: elements are moved, never converted.
Limits   n = 0 launches nothing.
Source   NVIDIA, Using Shared Memory in CUDA C/C++, developer blog 2013
  triton/block   a block of elements per program, read from the last to the first
  torch/eager    torch.flip
  torch/compile  the same through Inductor
"""

import torch

from implementation import (
    DENSE,
    INTERPRETED,
    Implementation,
    ceildiv,
    dense,
    next_power_of_2,
    tl,
    torch_rows,
    triton,
)

DIFFERENTIABLE = (0,)  # of the inputs of reference
BLOCK = 65536 if INTERPRETED else 4096  # elements of a program


@triton.jit
def _reverse_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + n - 1 - i, mask=i < n), mask=i < n)


def forward(x):
    """x [n] -> y [n] of its dtype."""
    n, y = x.numel(), torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if n:
        block = min(BLOCK, next_power_of_2(n))
        _reverse_kernel[(ceildiv(n, block),)](x, y, n, BLOCK=block)
    return y


def backward(grad_y):
    """grad_y [n] -> grad_x [n]."""
    return forward(grad_y)


def reference(x):
    """The formula in torch, in the dtype of x; differentiable."""
    return torch.flip(x, (0,))


def reference_backward(grad_y):
    """The backward formula in torch."""
    return torch.flip(grad_y, (0,))


_NAMES = {"outputs": ("y",), "gradients": ("grad_x",), "contract": "exact"}

IMPLEMENTATIONS = [
    Implementation("triton/block", forward, backward, accepts=dense, constraint=DENSE, **_NAMES),
    *torch_rows(reference, 1, DIFFERENTIABLE, **_NAMES),
]
