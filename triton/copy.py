"""copy: y = x
backward: grad_x = grad_y

Layout   x, y and the gradients: [rows, cols]; inputs with any strides, outputs contiguous. fp32, fp16, bf16:
         elements are moved, never converted.
Limits   rows or cols = 0 launches nothing.
Source   Harris 2013, An Efficient Matrix Transpose in CUDA C/C++, NVIDIA developer blog
  triton/block   a block of elements per program
  torch/eager    x.clone
  torch/compile  the same through Inductor
"""

import torch

from implementation import INTERPRETED, Implementation, ceildiv, next_power_of_2, tl, torch_rows, triton

DIFFERENTIABLE = (0,)  # of the inputs of reference
BLOCK = 65536 if INTERPRETED else 4096  # elements of a program


@triton.jit
def _copy_kernel(x_ptr, y_ptr, n, cols, row, col, DENSE: tl.constexpr, BLOCK: tl.constexpr):
    """DENSE says that x is contiguous: then no place has to be counted in rows."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if DENSE:
        x = tl.load(x_ptr + i, mask=i < n)
    else:
        x = tl.load(x_ptr + (i // cols) * row + (i % cols) * col, mask=i < n)
    tl.store(y_ptr + i, x, mask=i < n)


def forward(x):
    """x [rows, cols] -> y [rows, cols] of its dtype."""
    n, y = x.numel(), torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if n:
        block = min(BLOCK, next_power_of_2(n))
        _copy_kernel[(ceildiv(n, block),)](x, y, n, x.shape[1], *x.stride(), DENSE=x.is_contiguous(),
                                           BLOCK=block)
    return y


def backward(grad_y):
    """grad_y [rows, cols] -> grad_x [rows, cols]."""
    return forward(grad_y)


def reference(x):
    """The formula in torch, in the dtype of x; differentiable."""
    return x.clone(memory_format=torch.contiguous_format)


def reference_backward(grad_y):
    """The backward formula in torch."""
    return grad_y.clone(memory_format=torch.contiguous_format)


_NAMES = {"outputs": ("y",), "gradients": ("grad_x",), "contract": "exact"}

IMPLEMENTATIONS = [
    Implementation("triton/block", forward, backward, **_NAMES),
    *torch_rows(reference, 1, DIFFERENTIABLE, **_NAMES),
]
