"""transpose: y[c, r] = x[r, c]
backward: grad_x[r, c] = grad_y[c, r], the transpose of grad_y

Layout   x, grad_x: [rows, cols]; y, grad_y: [cols, rows]; inputs with any strides, outputs contiguous. fp32,
         fp16, bf16: elements are moved, never converted.
Limits   rows or cols = 0 launches nothing.
Source   Harris 2013, An Efficient Matrix Transpose in CUDA C/C++, NVIDIA developer blog
  triton/tiled   a square tile per program, turned by tl.trans
  torch/eager    x.transpose(0, 1), copied
  torch/compile  the same through Inductor
"""

import torch

from implementation import INTERPRETED, Implementation, ceildiv, tl, torch_rows, triton

DIFFERENTIABLE = (0,)  # of the inputs of reference
EDGE = 256 if INTERPRETED else 64  # of a tile: 64 columns of 2 bytes are a line of 128


@triton.jit
def _transpose_kernel(x_ptr, y_ptr, rows, cols, x_row, x_col, EDGE: tl.constexpr):
    # one-dimensional: the second dim of a grid ends at 65535
    across = tl.cdiv(cols, EDGE)
    r = (tl.program_id(0) // across).to(tl.int64) * EDGE + tl.arange(0, EDGE)
    c = (tl.program_id(0) % across).to(tl.int64) * EDGE + tl.arange(0, EDGE)
    tile = tl.load(x_ptr + r[:, None] * x_row + c[None, :] * x_col,
                   mask=(r < rows)[:, None] & (c < cols)[None, :])
    tl.store(y_ptr + c[:, None] * rows + r[None, :], tl.trans(tile),
             mask=(c < cols)[:, None] & (r < rows)[None, :])


def forward(x):
    """x [rows, cols] -> y [cols, rows] of its dtype."""
    rows, cols = x.shape
    y = torch.empty((cols, rows), dtype=x.dtype, device=x.device)
    if x.numel():
        tiles = ceildiv(rows, EDGE) * ceildiv(cols, EDGE)
        _transpose_kernel[(tiles,)](x, y, rows, cols, *x.stride(), EDGE=EDGE)
    return y


def backward(grad_y):
    """grad_y [cols, rows] -> grad_x [rows, cols]."""
    return forward(grad_y)


def reference(x):
    """The formula in torch, in the dtype of x; differentiable."""
    return x.transpose(0, 1).clone(memory_format=torch.contiguous_format)


def reference_backward(grad_y):
    """The backward formula in torch."""
    return grad_y.transpose(0, 1).clone(memory_format=torch.contiguous_format)


_NAMES = {"outputs": ("y",), "gradients": ("grad_x",), "contract": "exact"}

IMPLEMENTATIONS = [
    Implementation("triton/tiled", forward, backward, **_NAMES),
    *torch_rows(reference, 1, DIFFERENTIABLE, **_NAMES),
]
