"""Results that depend on a choice which rounding may change: the index of the largest element, the branch of
a comparison, a number that Python takes out of a tensor.

A function runs once with the choices of fp64, and again with the values that decide a choice moved within
their error bounds. The difference is the permitted error: for an integer the distance between the choices,
for a number that distance plus its own error bound. Equal values are moved apart, so that any of them may be
chosen.
"""

from __future__ import annotations

import math
from typing import Callable

import torch

from bounded import Bounded, UnknownForm, exactly, rules

RUNS = 5
"""Runs with moved values. The first two prefer the last and the first of equal ones."""

APART = 2.0 ** -30
"""The distance to which equal values are moved apart, relative to their size: less than that of different
numbers in fp32."""

LEAST_APART = 2.0 ** -200
"""The same for zeros."""

TAKEN = 2.0 ** -22
"""The relative distance to which a number that Python computes with is moved: a few roundings of fp32."""


class Moved:
    """The movement of the values in one run."""

    def __init__(self, run: int):
        self.run, self.random = run, torch.Generator().manual_seed(run)

    def chosen_by(self, x: Bounded) -> torch.Tensor:
        """Returns the value that decides a choice."""
        return self._of(x, APART)

    def taken(self, x: Bounded) -> torch.Tensor:
        """The value of a number that Python takes out of a tensor. What it computes with it has no error
        bound of its own."""
        return self._of(x, TAKEN)

    def _of(self, x: Bounded, share: float) -> torch.Tensor:
        if x.r.is_complex():
            return x.r
        if self.run < 2:
            at = torch.linspace(-1, 1, max(x.r.numel(), 2), dtype=torch.float64)[:x.r.numel()]
            by = (at if self.run == 0 else -at).reshape(x.r.shape)
        else:
            by = 2 * torch.rand(x.r.shape, generator=self.random, dtype=torch.float64) - 1
        moved = x.r + by * (x.e + share * x.r.abs() + LEAST_APART)
        return torch.where(moved.isfinite(), moved, x.r)


def settled(run: Callable[[], list[torch.Tensor]]) -> list[Bounded]:
    """Returns the results of run, with the error bounds of the choices that it makes."""
    rules.chose = rules.took = False
    values = run()
    found = [_bounded(v) for v in values]
    integers = any(not isinstance(v, Bounded) and not v.is_floating_point() for v in values)
    if not rules.took and not (integers and rules.chose):
        return found
    bounds = [x.e.clone() for x in found]
    for k in range(RUNS):
        rules.moved = Moved(k)
        try:
            others = [_bounded(v) for v in run()]
        finally:
            rules.moved = None
        for i, (x, other) in enumerate(zip(found, others)):
            if other.r.shape != x.r.shape:
                raise UnknownForm("a size that hangs on a choice has no rule for its error bound")
            apart = torch.where(x.r == other.r, 0.0, (x.r - other.r).abs()).nan_to_num(nan=math.inf)
            more = torch.where(apart <= x.e, 0.0, apart + other.e)
            bounds[i] = torch.maximum(bounds[i], more)
    return [Bounded(x.r, e, x.s) for x, e in zip(found, bounds)]


def _bounded(value: torch.Tensor) -> Bounded:
    return value if isinstance(value, Bounded) else exactly(value)
