"""mse: y = ((x[0]-t[0])^2 + (x[1]-t[1])^2 + ... + (x[n-1]-t[n-1])^2) / n

Layout   x, t: [n], contiguous; y: [1]. fp32, fp16, bf16; everything in fp32.
Limits   n is at least 1.
Source   Gauss 1821, Theoria combinationis observationum erroribus minimis obnoxiae
  triton/two_stage  programs add up the squares of every so-many-th block, and one adds up what they found
  torch/eager       torch.nn.functional.mse_loss; 16 bits through fp32, for torch rounds every square
  torch/compile     the same through Inductor
"""

import torch
import torch.nn.functional as F

from implementation import (
    DENSE,
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
BLOCK = 65536 if INTERPRETED else 4096  # squares that a program adds at once
PROGRAMS = 1024  # of the first stage at most: as many run at once on a large GPU


@triton.jit
def _mse_squares_kernel(x_ptr, t_ptr, y_ptr, n, step, BLOCK: tl.constexpr):
    """y[p] is the sum of the squares of every step-th block from block p on."""
    i = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for first in range(tl.program_id(0).to(tl.int64) * BLOCK, n, step):
        x = tl.load(x_ptr + first + i, mask=first + i < n, other=0.0).to(tl.float32)
        t = tl.load(t_ptr + first + i, mask=first + i < n, other=0.0).to(tl.float32)
        total += (x - t) * (x - t)
    tl.store(y_ptr + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def _mse_finish_kernel(sums_ptr, y_ptr, parts, n, PROGRAMS: tl.constexpr):
    i = tl.arange(0, PROGRAMS)
    total = tl.sum(tl.load(sums_ptr + i, mask=i < parts, other=0.0), 0)
    tl.store(y_ptr, (total / n).to(y_ptr.dtype.element_ty))


def forward(x, t):
    """x, t [n] -> y [1] of their dtype."""
    n, y = x.numel(), torch.empty(1, dtype=x.dtype, device=x.device)
    block = min(BLOCK, next_power_of_2(n))
    programs = min(PROGRAMS, ceildiv(n, block))
    sums = torch.empty(programs, dtype=torch.float32, device=x.device)
    _mse_squares_kernel[(programs,)](x, t, sums, n, programs * block, BLOCK=block)
    _mse_finish_kernel[(1,)](sums, y, programs, float(n), PROGRAMS=PROGRAMS)
    return y


def reference(x, t):
    """The formula in torch, in the dtype of x; differentiable."""
    return F.mse_loss(x, t).reshape(1)


def in_fp32(x, t):
    """The formula with every value inside fp32, rounded once at the end."""
    return reference(x.float(), t.float()).to(x.dtype)


_NAMES = {"outputs": ("y",)}

IMPLEMENTATIONS = [
    Implementation("triton/two_stage", forward, accepts=dense, constraint=DENSE, **_NAMES),
    Implementation("torch/eager", in_fp32, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(in_fp32), compiled=True, **_NAMES)),
]
