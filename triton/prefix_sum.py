"""prefix_sum: y[i] = x[0] + ... + x[i]; exclusive: y[i] = x[0] + ... + x[i-1], y[0] = 0

Layout   x, y: [n], contiguous. fp32, fp16, bf16, added in fp32; int32, whose sums wrap.
Limits   n = 0 launches nothing.
Source   Blelloch 1990, CMU-CS-90-190
  triton/three_kernel  sums of blocks, their scan by one program, the scan of each block behind it
  torch/eager          torch.cumsum in fp32, rounded once
  torch/compile        the same through Inductor
"""

import torch

from implementation import (
    DENSE,
    FLOATS,
    INTERPRETED,
    Implementation,
    beside_peers,
    ceildiv,
    compile_for,
    dense,
    next_power_of_2,
    tl,
    triton,
)

DIFFERENTIABLE = ()  # there is no backward
DTYPES = (*FLOATS, "int32")
CONTRACT = {("forward", d): "exact" if d == "int32" else "fp32" for d in DTYPES}
BLOCK = 32768 if INTERPRETED else 4096  # elements of a program
SUMS = 1024  # that the one program of the second stage scans at once


@triton.jit
def _block_sums_kernel(x_ptr, sums_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0).to(sums_ptr.dtype.element_ty)
    tl.store(sums_ptr + tl.program_id(0), tl.sum(x, 0))


@triton.jit
def _scan_sums_kernel(sums_ptr, before_ptr, n, SUMS: tl.constexpr):
    """before[b] is the sum of the sums before b."""
    before = tl.zeros((), sums_ptr.dtype.element_ty)
    for first in range(0, n, SUMS):
        i = first + tl.arange(0, SUMS)
        through = before + tl.cumsum(tl.load(sums_ptr + i, mask=i < n, other=0), 0)
        tl.store(before_ptr + i + 1, through, mask=i + 1 < n)
        before = tl.sum(tl.where(i == first + SUMS - 1, through, 0), 0)


@triton.jit
def _scan_blocks_kernel(x_ptr, before_ptr, y_ptr, n, EXCLUSIVE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0).to(before_ptr.dtype.element_ty)
    y = (tl.load(before_ptr + tl.program_id(0)) + tl.cumsum(x, 0)).to(y_ptr.dtype.element_ty)
    if EXCLUSIVE:  # each sum is that of the next place; before the first lies 0
        tl.store(y_ptr + i + 1, y, mask=i + 1 < n)
        if tl.program_id(0) == 0:
            tl.store(y_ptr, tl.zeros((), y_ptr.dtype.element_ty))
    else:
        tl.store(y_ptr + i, y, mask=i < n)


def forward(x, exclusive):
    """x [n] -> y [n] of its dtype."""
    n, y = x.numel(), torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if n:
        block = min(BLOCK, next_power_of_2(n))
        programs = ceildiv(n, block)
        wide = torch.float32 if x.is_floating_point() else x.dtype
        sums = torch.empty(programs, dtype=wide, device=x.device)
        before = torch.zeros(programs, dtype=wide, device=x.device)
        _block_sums_kernel[(programs,)](x, sums, n, BLOCK=block)
        _scan_sums_kernel[(1,)](sums, before, programs, SUMS=SUMS)
        _scan_blocks_kernel[(programs,)](x, before, y, n, EXCLUSIVE=exclusive, BLOCK=block)
    return y


def reference(x, exclusive):
    """The formula in torch, in the dtype of x; differentiable."""
    sums = torch.cumsum(x, 0, dtype=x.dtype)
    return torch.cat([torch.zeros_like(x[:1]), sums[:-1]]) if exclusive else sums


def _eager(x, exclusive):
    """The same from fp32: torch.cumsum of a 16-bit tensor rounds every sum before it goes on."""
    return reference(x.float() if x.is_floating_point() else x, exclusive).to(x.dtype)


IMPLEMENTATIONS = [
    Implementation("triton/three_kernel", forward, contract=CONTRACT, dtypes=DTYPES, outputs=("y",),
                   accepts=dense, constraint=DENSE),
    # On a GPU torch.cumsum carries sums from block to block as they come, in no order.
    Implementation("torch/eager", _eager, contract=CONTRACT, dtypes=DTYPES, outputs=("y",),
                   nondeterministic=("y",)),
    *beside_peers(Implementation("torch/compile", compile_for(_eager), compiled=True, contract=CONTRACT,
                                 dtypes=DTYPES, outputs=("y",), nondeterministic=("y",))),
]
