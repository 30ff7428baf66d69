"""count_equal: count = the number of i with x[i] = value

Layout   x: [n] int32, contiguous; count: [1] int64.
Limits   n = 0 counts nothing.
Source   Hwu, Kirk and El Hajj 2022, Programming Massively Parallel Processors, chapters 9 and 10
  triton/two_stage   programs with a count each, which a second kernel adds up
  torch/eager        (x == value).sum()
  torch/compile      the same through Inductor
"""

import torch

from implementation import (
    DENSE,
    INTERPRETED,
    Implementation,
    ceildiv,
    compile_for,
    dense,
    next_power_of_2,
    tl,
    triton,
)

DIFFERENTIABLE = ()  # of the inputs of reference: integers have no gradients
BLOCK = 65536 if INTERPRETED else 4096  # elements that a program takes at once
PROGRAMS = 1024  # at most


@triton.jit
def _count_equal_kernel(x_ptr, counts_ptr, n, value, step, BLOCK: tl.constexpr):
    count = tl.zeros((BLOCK,), tl.int32)
    for first in range(tl.program_id(0).to(tl.int64) * BLOCK, n, step):
        i = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i, mask=i < n, other=0)
        count += ((x == value) & (i < n)).to(tl.int32)
    tl.store(counts_ptr + tl.program_id(0), tl.sum(count.to(tl.int64), 0))


@triton.jit
def _count_finish_kernel(counts_ptr, count_ptr, parts, PROGRAMS: tl.constexpr):
    i = tl.arange(0, PROGRAMS)
    tl.store(count_ptr, tl.sum(tl.load(counts_ptr + i, mask=i < parts, other=0), 0))


def forward(x, *, value):
    """x [n] int32 -> count [1] int64."""
    n, count = x.numel(), torch.empty(1, dtype=torch.int64, device=x.device)
    block = min(BLOCK, next_power_of_2(n))
    programs = max(1, min(PROGRAMS, ceildiv(n, block)))
    counts = torch.empty(programs, dtype=torch.int64, device=x.device)
    _count_equal_kernel[(programs,)](x, counts, n, value, programs * block, BLOCK=block)
    _count_finish_kernel[(1,)](counts, count, programs, PROGRAMS=PROGRAMS)
    return count


def reference(x, *, value):
    """The formula in torch."""
    return (x == value).sum().reshape(1)


_NAMES = {"outputs": ("count",), "dtypes": ("int32",), "contract": "exact"}

IMPLEMENTATIONS = [
    Implementation("triton/two_stage", forward, accepts=dense, constraint=DENSE, **_NAMES),
    Implementation("torch/eager", reference, **_NAMES),
    Implementation("torch/compile", compile_for(reference), compiled=True, **_NAMES),
]
