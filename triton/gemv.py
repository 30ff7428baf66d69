"""gemv: y[r] = sum_c a[r, c] * x[c]

Layout   a [rows, cols], x [cols] with any strides, y [rows]. fp32, fp16, bf16; multiplied and added in fp32.
Limits   rows = 0 launches nothing.
Source   Dongarra et al. 1988, An extended set of Fortran basic linear algebra subprograms
  triton/row    a few rows per program
  torch/eager   torch.mv; 16 bits on a CPU through fp32, where torch.mv may add up in 16 bits
  torch/compile the same through Inductor
"""

import torch

from implementation import (
    INTERPRETED,
    Implementation,
    beside_peers,
    ceildiv,
    compile_for,
    next_power_of_2,
    tl,
    triton,
)

DIFFERENTIABLE = ()  # there is no backward
ROWS = 64 if INTERPRETED else 4  # of a program
BLOCK = 4096 if INTERPRETED else 1024  # columns that a program reads at once


@triton.jit
def _gemv_kernel(a_ptr, x_ptr, y_ptr, rows, cols, a_row, a_col, x_col, ROWS: tl.constexpr,
                 BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros([ROWS, BLOCK], dtype=tl.float32)
    for first in range(0, cols, BLOCK):
        c = first + tl.arange(0, BLOCK).to(tl.int64)
        x = tl.load(x_ptr + c * x_col, mask=c < cols, other=0.0).to(tl.float32)
        a = tl.load(a_ptr + r[:, None] * a_row + c[None, :] * a_col,
                    mask=(r < rows)[:, None] & (c < cols)[None, :], other=0.0).to(tl.float32)
        total += a * x[None, :]
    tl.store(y_ptr + r, tl.sum(total, 1).to(y_ptr.dtype.element_ty), mask=r < rows)


def forward(a, x):
    """a [rows, cols], x [cols] -> y [rows] of their dtype."""
    rows, cols = a.shape
    y = torch.empty(rows, dtype=a.dtype, device=a.device)
    if rows:
        block = min(BLOCK, next_power_of_2(cols))
        _gemv_kernel[(ceildiv(rows, ROWS),)](a, x, y, rows, cols, *a.stride(), x.stride(0), ROWS=ROWS,
                                             BLOCK=block)
    return y


def reference(a, x):
    """The formula in torch, in the dtype of a; differentiable."""
    return torch.mv(a, x)


def eager(a, x):
    """torch.mv; on a CPU 16-bit inputs are widened first."""
    if a.device.type == "cpu" and a.dtype != torch.float32:
        return torch.mv(a.float(), x.float()).to(a.dtype)
    return torch.mv(a, x)


_NAMES = {"outputs": ("y",)}

IMPLEMENTATIONS = [
    Implementation("triton/row", forward, **_NAMES),
    Implementation("torch/eager", eager, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(eager), compiled=True, **_NAMES)),
]
