"""The rule of a Cholesky factorization.

    A = L L^T     T(L) = |L| X,  X = low(|L^-1| D |L^-T| + X X^T),  D = T_A + u*(g(n) + 2)*|L| |L|^T

low is the lower triangle with half of the diagonal. X bounds L^-1 times the change of L that a change of A by
D makes. Where the equation has no solution, A may as well have no factor.
"""

from __future__ import annotations

import math

import torch

import error_bound_rules  # noqa: F401  (it fills in the rules that others are made of)
from bounded import FORMS, Bounded, aten, rules

STEPS, ABOVE = 20, 1.01
"""Steps towards the solution of the equation, and the factor by which the last one is enlarged to a bound."""


def _cholesky(r, x: Bounded, *, upper: bool = False, check_errors: bool = False):
    factor = r[0].mT if upper else r[0]
    one = torch.eye(factor.shape[-1]).to(factor)
    inverse = torch.linalg.solve_triangular(factor, one, upper=False).abs()
    moved = x.e + rules.u * (rules.growth(factor.shape[-1]) + 2) * (factor.abs() @ factor.abs().mT)
    share = inverse @ moved @ inverse.mT

    def step(found: torch.Tensor) -> torch.Tensor:
        lower = (share + found @ found.mT).tril()
        return lower - torch.diag_embed(lower.diagonal(dim1=-2, dim2=-1)) / 2
    found = torch.zeros_like(share)
    for _ in range(STEPS):
        found = step(found)
    found = ABOVE * found
    holds = (step(found) <= found).all((-2, -1), keepdim=True)
    t = torch.where(holds, factor.abs() @ found, torch.where(factor == 0, 0.0, math.inf))
    return (t.mT if upper else t), r[1]


FORMS[aten.linalg_cholesky_ex] = _cholesky
