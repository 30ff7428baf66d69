"""The rules of complex numbers and Fourier transforms. The error bound of a complex number is real: how far
it may be off in any direction.

    a transform   T(F x) = sum T_x + u*(g(n) + 16)*sum(|x| + T_x), with 16 units for factors that a kernel
                  computes from angles below a turn
"""

from __future__ import annotations

import math

import torch

import error_bound_rules  # noqa: F401  (it fills in the rules of real numbers)
from bounded import FORMS, SELECTS, Bounded, aten, error_of, rules

ANGLES = 16.0
"""What a factor cos + i sin of an angle in fp32 may be off by, in units of 2^-24."""


def _complex(r, real, imag):
    return torch.hypot(*(torch.as_tensor(error_of(x), dtype=torch.float64).expand(r.shape)
                         for x in (real, imag)))


def _as_real(r, x):
    return x.e.unsqueeze(-1).expand(r.shape)


def _transform(r: torch.Tensor, x: Bounded, dims: list[int], normalization: int, n: int,
               times: int = 1) -> torch.Tensor:
    """The error bound of a transform of n elements, each of which stands for times elements."""
    scale = times / (1.0, math.sqrt(n), n)[normalization]
    sizes = (x.r.abs() + x.e).sum(dims, True)
    return scale * (x.e.sum(dims, True) + rules.u * (rules.growth(n) + ANGLES) * sizes).expand(r.shape)


def _sizes(x: torch.Tensor, dims: list[int]) -> int:
    return math.prod(x.shape[d] for d in dims)


def _multiply(rule):
    """The rule of a product, whose complex form has three more roundings."""
    def form(r, a, b):
        return rule(r, a, b) + (3 * rules.u * r.abs() if r.is_complex() else 0)
    return form


FORMS.update({
    aten.complex: _complex, aten.view_as_real: _as_real,
    aten.view_as_complex: lambda r, x: torch.hypot(x.e[..., 0], x.e[..., 1]),
    aten._fft_c2c: lambda r, x, dims, normalization, forward: _transform(
        r, x, dims, normalization, _sizes(r, dims)),
    aten._fft_r2c: lambda r, x, dims, normalization, onesided: _transform(
        r, x, dims, normalization, _sizes(x.r, dims)),
    aten._fft_c2r: lambda r, x, dims, normalization, last: _transform(
        r, x, dims, normalization, _sizes(r, dims), 2),
    aten.mul: _multiply(FORMS[aten.mul]),
})

SELECTS.update({aten.complex, aten.view_as_real, aten.view_as_complex})
