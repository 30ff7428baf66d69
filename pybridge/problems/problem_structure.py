"""The structure of the inputs that a problem draws, such as a triangle of zeros. triad draws data without it,
on which a right kernel may fail and a wrong one pass."""

from __future__ import annotations

import torch

MOST_SAMPLED = 1 << 16
"""Elements of a tensor that are looked at."""

SAME = "is the same in every draw"

FEW = 16
"""Distinct values of 16 bits that are few."""


def structure(draws: list[torch.Tensor]) -> str:
    """The structure that an input has in each draw that is large enough to show it, as the end of a sentence;
    "" for none. Integers and bools take few values by their nature."""
    draws = [t.detach().cpu() for t in draws if t.numel()]
    draws = [t.long() if t.dtype == torch.uint32 else t for t in draws]  # which torch cannot compare
    if not draws:
        return ""
    draws = [t for t in draws if not _one_value(t)] or draws  # of zeros alone anything is true
    floats = draws[0].is_floating_point()
    for text, enough, has in _STRUCTURES + (_OF_FLOATS if floats else _OF_INTEGERS):
        large = [t for t in draws if enough(t)]
        if large and all(has(t) for t in large):
            return text
    if len(draws) > 1 and _tells(draws[0]) and all(_equal(t, draws[0]) for t in draws[1:]):
        return SAME
    return ""


def sums_to_one(draws: list[torch.Tensor]) -> str:
    """SHARES where each row of an input of floats is divided into shares of 1, in each draw; "" otherwise. A
    row has to be whole: no draw is sampled."""
    draws = [t for t in draws if t.is_floating_point() and t.dtype.itemsize > 1 and t.numel() >= 4
             and t.shape[-1] >= 2]
    one = torch.ones((), dtype=torch.float64)
    is_so = all((t >= 0).all() and torch.allclose(
        t.double().sum(-1), one, atol=1e-2 if t.dtype.itemsize < 4 else 1e-4) for t in draws)
    return SHARES if draws and is_so else ""


def sampled(t: torch.Tensor) -> torch.Tensor:
    """Elements of a large tensor at even distances: its longest axes are thinned out alike, so that a
    triangle, an order or a symmetry shows in what is left. Numbers of 8 bits cannot be compared as they
    are."""
    t = t.float() if t.is_floating_point() and t.dtype.itemsize == 1 else t
    while t.numel() > MOST_SAMPLED:
        longest = max(t.shape)
        t = t[tuple(slice(None, None, 2 if size == longest else 1) for size in t.shape)]
    return t


def of_zeros_and_ones(draws: list[torch.Tensor]) -> bool:
    """Whether an input of floats is a mask."""
    return all(((t == 0) | (t == 1)).all() for t in draws)


def alike(draws: list[list[torch.Tensor]]) -> tuple[int, int] | None:
    """Two inputs that hold the same elements in every draw, None where there are none."""
    for j in range(len(draws[0])):
        for i in range(j):
            if all(_equal(d[i], d[j]) for d in draws) and any(_tells(d[i]) for d in draws):
                return i, j
    return None


def _tells(t: torch.Tensor) -> bool:
    """Whether chance would hardly draw it twice."""
    return t.numel() > 1 if t.is_floating_point() else t.numel() >= 16


def _equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dtype == b.dtype and torch.equal(a, b)


def _square(t: torch.Tensor) -> bool:
    return t.dim() >= 2 and t.shape[-1] == t.shape[-2] >= 3


def _upper(t: torch.Tensor) -> bool:
    return not t.tril(-1).any()


def _lower(t: torch.Tensor) -> bool:
    return not t.triu(1).any()


def _symmetric(t: torch.Tensor) -> bool:
    return torch.equal(t, t.mT) or t.dtype != torch.bool and torch.equal(t, -t.mT)


def _sorted(t: torch.Tensor) -> bool:
    """In the order of an axis, rising or falling."""
    for axis in range(t.dim()):
        size = t.shape[axis]
        if size < 3 or t.numel() // size * (size - 1) < 12:
            continue
        first, second = t.narrow(axis, 0, size - 1), t.narrow(axis, 1, size - 1)
        if (first <= second).all() or (first >= second).all():
            return True
    return False


def _one_hot(t: torch.Tensor) -> bool:
    return bool(((t != 0).sum(-1) == 1).all())


def _few(t: torch.Tensor) -> bool:
    """Random floats of 32 bits hardly repeat; those of 16 bits do."""
    most = t.numel() // 2 if t.dtype.itemsize >= 4 else min(FEW, t.numel() // 2)
    return t.double().unique().numel() <= most


def _often(t: torch.Tensor) -> bool:
    """Whether one value takes an eighth of the elements."""
    return int(t.double().unique(return_counts=True)[1].max()) * 8 >= t.numel()


def _integers(t: torch.Tensor) -> bool:
    return bool((t == t.round()).all())


def _one_value(t: torch.Tensor) -> bool:
    return bool((t == t.flatten()[0]).all())


def _permutation(t: torch.Tensor) -> bool:
    return torch.equal(t.flatten().sort().values, torch.arange(t.numel(), dtype=t.dtype))


_STRUCTURES = [
    ("has one value alone", lambda t: t.numel() >= 16, _one_value),
    ("is triangular or diagonal", _square, lambda t: _upper(t) or _lower(t)),
    ("is symmetric", _square, _symmetric),
    ("has one element in each row that is not 0",
     lambda t: t.dim() >= 2 and t.shape[-1] >= 4 and t.numel() >= 16, _one_hot),
    ("is sorted", lambda t: t.numel() >= 16, _sorted),
]

FEW_VALUES, OFTEN, SHARES = "has few values", "has one value in many places", "has rows that sum to 1"

_OF_FLOATS = [
    (FEW_VALUES, lambda t: t.numel() >= 4, _few),
    (OFTEN, lambda t: t.numel() >= 64, _often),
    ("has integers alone", lambda t: t.numel() >= 16, _integers),
]

_OF_INTEGERS = [
    ("is a permutation", lambda t: t.dtype != torch.bool and t.numel() >= 8, _permutation),
]
