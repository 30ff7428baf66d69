"""dot: y = a[0]*b[0] + a[1]*b[1] + ... + a[n-1]*b[n-1]
backward: grad_a = grad_y * b, grad_b = grad_y * a

Layout   a, b and their gradients: [n], contiguous; y, grad_y: [1]. fp32, fp16, bf16; multiplied and added in
         fp32.
Limits   n = 0 gives 0.
Source   Sanders and Kandrot 2010, CUDA by Example, section 5.3: dot product
  triton/two_stage  programs add up the products of every so-many-th block, and one adds up what they found
  torch/eager       torch.dot, which BLAS computes; 16 bits through fp32, for torch.dot may add up in 16 bits
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

DIFFERENTIABLE = (0, 1)  # of the inputs of reference
BLOCK = 65536 if INTERPRETED else 4096  # products that a program adds at once
PROGRAMS = 1024  # of the first stage at most: as many run at once on a large GPU


@triton.jit
def _dot_products_kernel(a_ptr, b_ptr, y_ptr, n, step, BLOCK: tl.constexpr):
    """y[p] is the sum of the products of every step-th block from block p on."""
    i = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for first in range(tl.program_id(0).to(tl.int64) * BLOCK, n, step):
        a = tl.load(a_ptr + first + i, mask=first + i < n, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + first + i, mask=first + i < n, other=0.0).to(tl.float32)
        total += a * b
    tl.store(y_ptr + tl.program_id(0), tl.sum(total, 0))


@triton.jit
def _dot_finish_kernel(sums_ptr, y_ptr, parts, PROGRAMS: tl.constexpr):
    i = tl.arange(0, PROGRAMS)
    total = tl.sum(tl.load(sums_ptr + i, mask=i < parts, other=0.0), 0)
    tl.store(y_ptr, total.to(y_ptr.dtype.element_ty))


@triton.jit
def _dot_bwd_kernel(a_ptr, b_ptr, dy_ptr, da_ptr, db_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    dy = tl.load(dy_ptr).to(tl.float32)
    a = tl.load(a_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(da_ptr + i, (dy * b).to(da_ptr.dtype.element_ty), mask=i < n)
    tl.store(db_ptr + i, (dy * a).to(db_ptr.dtype.element_ty), mask=i < n)


def forward(a, b):
    """a, b [n] -> y [1] of their dtype."""
    n, y = a.numel(), torch.empty(1, dtype=a.dtype, device=a.device)
    block = min(BLOCK, next_power_of_2(n))
    programs = max(1, min(PROGRAMS, ceildiv(n, block)))
    sums = torch.empty(programs, dtype=torch.float32, device=a.device)
    _dot_products_kernel[(programs,)](a, b, sums, n, programs * block, BLOCK=block)
    _dot_finish_kernel[(1,)](sums, y, programs, PROGRAMS=PROGRAMS)
    return y


def backward(a, b, grad_y):
    """a, b [n], grad_y [1] -> grad_a, grad_b [n]."""
    n, grad_a, grad_b = a.numel(), torch.empty_like(a), torch.empty_like(b)
    if n:
        block = min(BLOCK, next_power_of_2(n))
        _dot_bwd_kernel[(ceildiv(n, block),)](a, b, grad_y, grad_a, grad_b, n, BLOCK=block)
    return grad_a, grad_b


def reference(a, b):
    """The formula in torch, in the dtype of a; differentiable."""
    return torch.dot(a, b).reshape(1)


def in_fp32(a, b):
    """The formula with every value inside fp32, rounded once at the end."""
    return reference(a.float(), b.float()).to(a.dtype)


def reference_backward(a, b, grad_y):
    """The backward formula in torch."""
    return grad_y * b, grad_y * a


_NAMES = {"outputs": ("y",), "gradients": ("grad_a", "grad_b")}

IMPLEMENTATIONS = [
    Implementation("triton/two_stage", forward, backward, accepts=dense, constraint=DENSE, **_NAMES),
    *torch_rows(in_fp32, 2, DIFFERENTIABLE, **_NAMES),
]
