"""sum: y = x[0] + x[1] + ... + x[n-1]
backward: grad_x[i] = grad_y

Layout   x, grad_x: [n], contiguous; y, grad_y: [1]. fp32, fp16, bf16; added in fp32.
Limits   n = 0 gives 0.
Source   Harris 2007, Optimizing Parallel Reduction in CUDA
  triton/two_stage  programs add up every so-many-th block, and one program adds up what they found
  torch/eager       torch.sum
  torch/compile     the same through Inductor
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
BLOCK = 65536 if INTERPRETED else 4096  # elements that a program adds at once
PROGRAMS = 1024  # of the first stage at most: as many run at once on a large GPU


@triton.jit
def _sum_fwd_kernel(x_ptr, y_ptr, n, step, BLOCK: tl.constexpr):
    """y[p] is the sum of every step-th block of x from block p on."""
    i = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for first in range(tl.program_id(0).to(tl.int64) * BLOCK, n, step):
        total += tl.load(x_ptr + first + i, mask=first + i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + tl.program_id(0), tl.sum(total, 0).to(y_ptr.dtype.element_ty))


@triton.jit
def _sum_bwd_kernel(dy_ptr, dx_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dx_ptr + i, tl.broadcast_to(tl.load(dy_ptr), [BLOCK]), mask=i < n)


def forward(x):
    """x [n] -> y [1] of its dtype."""
    n, y = x.numel(), torch.empty(1, dtype=x.dtype, device=x.device)
    block = min(BLOCK, next_power_of_2(n))
    programs = max(1, min(PROGRAMS, ceildiv(n, block)))
    sums = torch.empty(programs, dtype=torch.float32, device=x.device)
    _sum_fwd_kernel[(programs,)](x, sums, n, programs * block, BLOCK=block)
    _sum_fwd_kernel[(1,)](sums, y, programs, PROGRAMS, BLOCK=PROGRAMS)
    return y


def backward(x, grad_y):
    """x [n], grad_y [1] -> grad_x [n]."""
    n, grad_x = x.numel(), torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if n:
        block = min(BLOCK, next_power_of_2(n))
        _sum_bwd_kernel[(ceildiv(n, block),)](grad_y, grad_x, n, BLOCK=block)
    return grad_x


def reference(x):
    """The formula in torch, in the dtype of x; differentiable."""
    return torch.sum(x, 0, keepdim=True)


def reference_backward(x, grad_y):
    """The backward formula in torch."""
    return grad_y.expand(x.shape).contiguous()


_NAMES = {"outputs": ("y",), "gradients": ("grad_x",)}

IMPLEMENTATIONS = [
    Implementation("triton/two_stage", forward, backward, accepts=dense, constraint=DENSE, **_NAMES),
    *torch_rows(reference, 1, DIFFERENTIABLE, **_NAMES),
]
