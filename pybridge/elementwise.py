"""What the operator files of elementwise operators share: how a kernel goes over contiguous tensors, and the
rows that such an operator has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from implementation import (
    DENSE,
    INTERPRETED,
    Implementation,
    ceildiv,
    compile_for,
    dense,
    differentiable_row,
    next_power_of_2,
)

BLOCK = 65536 if INTERPRETED else 1024
"""Elements of a program."""


def fill(kernel: Any, *inputs: torch.Tensor, **constants: Any) -> torch.Tensor:
    """What kernel(*inputs, output, n, BLOCK, **constants) writes to an output of the shape and dtype of the
    first input, all contiguous with n elements: a program takes BLOCK of them. Without elements nothing is
    launched."""
    output = torch.empty_like(inputs[0])
    n = output.numel()
    if n:
        block = min(BLOCK, next_power_of_2(n))
        kernel[(ceildiv(n, block),)](*inputs, output, n, BLOCK=block, **constants)
    return output


def rows(forward: Callable[..., Any], backward: Callable[..., Any], plain: Callable[..., Any],
         gradients: tuple[str, ...] = ("grad_x",)) -> list[Implementation]:
    """The rows triton/block, of forward and backward, and torch/eager and torch/compile, of the function
    plain that torch differentiates, of an operator with the output y. gradients are those of plain's
    tensors, in their order."""
    names = {"outputs": ("y",), "gradients": gradients}
    inputs = len(gradients), tuple(range(len(gradients)))  # all are differentiable
    return [
        Implementation("triton/block", forward, backward, accepts=dense, constraint=DENSE, **names),
        differentiable_row("torch/eager", plain, *inputs, **names),
        differentiable_row("torch/compile", compile_for(plain), *inputs, compiled=True, **names),
    ]
