"""rainbow_table: FNV-1a of the 4 bytes of x, the lowest first, applied for some rounds

Layout   x, h: [n] uint32; x with any stride, h contiguous.
Limits   n = 0 launches nothing; no round gives x.
Source   Fowler, Noll, Vo: draft-eastlake-fnv-17, section 2
  triton/block   a block of numbers per program
  torch/eager    int64, of which the low 32 bits are kept: torch has little arithmetic of uint32
  torch/compile  the same through Inductor
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

DIFFERENTIABLE = ()  # of the inputs of reference: integers have no gradients
BLOCK = 65536 if INTERPRETED else 1024  # numbers of a program
OFFSET, PRIME = 2166136261, 16777619


@triton.jit
def _rainbow_table_kernel(x_ptr, h_ptr, n, stride, rounds, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i * stride, mask=i < n, other=0).to(tl.uint32)
    for _ in range(rounds):
        h = tl.full((BLOCK,), 2166136261, tl.uint32)
        for byte in tl.static_range(4):
            h = (h ^ ((v >> (8 * byte)) & 255)) * 16777619
        v = h
    tl.store(h_ptr + i, v, mask=i < n)


def forward(x, *, rounds):
    """x [n] uint32 -> h [n] uint32."""
    n, h = x.numel(), torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if n:
        block = min(BLOCK, next_power_of_2(n))
        _rainbow_table_kernel[(ceildiv(n, block),)](x, h, n, x.stride(0), rounds, BLOCK=block)
    return h


def reference(x, *, rounds):
    """The formula in torch."""
    v = x.to(torch.int64)
    for _ in range(rounds):
        h = torch.full_like(v, OFFSET)
        for byte in range(4):
            h = ((h ^ (v >> 8 * byte & 255)) * PRIME) & 0xFFFFFFFF
        v = h
    return v.to(x.dtype)


_NAMES = {"outputs": ("h",), "dtypes": ("uint32",), "contract": "exact"}

IMPLEMENTATIONS = [
    Implementation("triton/block", forward, **_NAMES),
    Implementation("torch/eager", reference, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(reference), compiled=True, **_NAMES)),
]
