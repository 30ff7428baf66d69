"""What the operator files of matrix products share: the order in which programs take tiles, and operands that
are read through tensor descriptors, on Hopper by the copy engine."""

from __future__ import annotations

import torch

from implementation import INTERPRETED, tl, triton

GROUP = 8
"""Rows of tiles that are walked together."""

PLACES = 3 if INTERPRETED else 132
"""Multiprocessors that are there: those of a Hopper GPU."""


@triton.jit
def place(tile, m, n, GROUP: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """The first row and column of an [M, N] tile of an [m, n] product. Tiles walk GROUP rows of tiles column
    by column, so that those in flight share what L2 holds."""
    per_group = GROUP * tl.cdiv(n, N)
    first = (tile // per_group) * GROUP
    height = tl.minimum(tl.cdiv(m, M) - first, GROUP)
    return (first + (tile % per_group) % height) * M, (tile % per_group) // height * N


def described(x: torch.Tensor, block: list[int]):
    """A descriptor of x, whose last dim is dense, for reads of such blocks. Beyond x they are 0."""
    from triton.tools.tensor_descriptor import TensorDescriptor
    return TensorDescriptor(x, list(x.shape), list(x.stride()), block)


def not_described(x: torch.Tensor, name: str, dense: int) -> str | None:
    """Why x cannot be read through a descriptor whose last dim is x's dim `dense`: a sentence about name, or
    None. The copy engine reads rows, and matrices, that begin at multiples of 16 bytes."""
    if 0 in x.shape:
        return f"{name} is empty"
    steps = [x.stride(d) * x.element_size() for d in range(x.dim()) if d != dense]
    if x.stride(dense) != 1 or x.data_ptr() % 16 or any(step <= 0 or step % 16 for step in steps):
        return f"{name} has rows that do not begin at 16 bytes, or no rows"
    return None
