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
         gradients: tuple[str, ...] = ("grad_x",), differentiable: tuple[int, ...] | None = None,
         inputs: int | None = None, *, eager: Any = "fp32", compiled: Any = "fp32") -> list[Implementation]:
    """The rows triton/block, of forward and backward, and torch/eager and torch/compile, of the function
    plain that torch differentiates, of an operator with the output y. gradients are those of plain's
    tensors at the places differentiable, of so many inputs; without these of all, in their order. eager and
    compiled are the contracts of torch's rows."""
    names = {"outputs": ("y",), "gradients": gradients}
    places = tuple(range(len(gradients))) if differentiable is None else differentiable
    taken = len(gradients) if inputs is None else inputs, places
    return [
        Implementation("triton/block", forward, backward, accepts=dense, constraint=DENSE, **names),
        differentiable_row("torch/eager", plain, *taken, contract=eager, **names),
        differentiable_row("torch/compile", compile_for(plain), *taken, compiled=True, contract=compiled,
                           **names),
    ]
