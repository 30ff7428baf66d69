"""How the inputs of a function's problem are drawn at any sizes: in the range of its tests, and with the
structure that they have there. A recipe is a dictionary of JSON: the range, and the name of a structure."""

from __future__ import annotations

import math
import types
from typing import Any

import torch

import problem_sizes
import problem_structure
from tensors import DTYPES

MOST_VALUES = 64
"""Values of an input that has few."""

MOST_COUNTED = 1 << 24
"""Elements whose values are counted."""

WINDOW, MOST_PARTS = 256, 64
"""Elements of a vector whose mean and standard deviation tell its parts, and how many parts it may have."""

LEAST_SAME, MOST_FIXED = 3, 4096
"""Tests in which an input is the same, such as weights that are no drawn numbers, and its elements."""

MOST_APART = 1.5
"""The ratio of the standard deviations of neighbors in one part."""

MOST_INTEGER = (1 << 63) - 2
"""The largest integer that torch draws."""


def range_of(tests: list[torch.Tensor]) -> dict[str, Any]:
    """The recipe of an input without structure: between the least and the largest element of the tests."""
    if not tests:
        return {"low": 0, "high": 1}
    found = [t for t in map(_finite, tests) if t.numel()]
    low = min((t.min().item() for t in found), default=0)
    high = max((t.max().item() for t in found), default=1)
    if not tests[0].is_floating_point():
        return {"low": int(low), "high": int(high)}
    return {"low": 0, "high": 1} if 0 <= low and high <= 1 else {"low": low, "high": high}


def of(tests: list[torch.Tensor]) -> dict[str, Any]:
    """The recipe of an input, as it is in the tests."""
    recipe, finite = range_of(tests), [_finite(t) for t in tests]
    if not tests:
        return recipe
    found = (problem_structure.structure([problem_structure.sampled(t) for t in tests])
             or problem_structure.sums_to_one(tests))
    if found and (name := _NAMES.get(found)):
        recipe["structure"] = name
    if not any(t.numel() for t in finite):
        recipe.pop("structure", None)
        return recipe
    if found == problem_structure.SAME and len(tests) >= LEAST_SAME and tests[0].numel() <= MOST_FIXED:
        recipe["fixed"] = tests[0].double().flatten().tolist()
        return recipe
    if sum(t.numel() for t in finite) > MOST_COUNTED:
        finite = [_finite(problem_structure.sampled(t)) for t in tests]
    values, counts = torch.cat([t.double() for t in finite]).unique(return_counts=True)
    few = len(values) <= MOST_VALUES
    if few and (found == problem_structure.FEW_VALUES or not found and not tests[0].is_floating_point()):
        recipe.update(values=values.tolist(), shares=(counts / counts.sum()).tolist())
    elif found == problem_structure.FEW_VALUES:
        recipe.pop("structure")
        if (values == values.round()).all():
            recipe["structure"] = "integers"
    elif found in ("", problem_structure.OFTEN) and (parts := parts_of(tests)):
        recipe.pop("structure", None)
        recipe["parts"] = parts
    elif found == problem_structure.OFTEN:
        most = int(counts.argmax())
        recipe.update(value=values[most].item(), share=(counts[most] / counts.sum()).item())
    elif recipe.get("structure") == "triangle":
        recipe["upper"] = all(not t.tril(-1).any() for t in tests if t.dim() >= 2)
        recipe["lower"] = all(not t.triu(1).any() for t in tests if t.dim() >= 2)
    return recipe


def parts_of(tests: list[torch.Tensor]) -> list[list[float]]:
    """The parts of a vector that has one length in all tests, such as the weights of a layer one after the
    other: of each part the number of elements, their mean and their standard deviation. An empty list where
    all elements are of one size, or the parts differ from test to test."""
    if any(t.dim() != 1 or t.shape != tests[0].shape or not t.is_floating_point() for t in tests):
        return []
    found = [_parts(t.double()) for t in tests if t.numel() >= 2 * WINDOW and t.isfinite().all()]
    lengths = [[length for length, *_ in parts] for parts in found]
    if not found or len(found) < len(tests) or any(other != lengths[0] for other in lengths):
        return []
    return found[0] if 2 <= len(found[0]) <= MOST_PARTS else []


def _parts(t: torch.Tensor) -> list[list[float]]:
    """The parts of one vector, cut between windows of which the second has another mean or deviation."""
    windows = t[:len(t) // WINDOW * WINDOW].reshape(-1, WINDOW)
    mean, deviation = windows.mean(1), windows.std(1)
    least, most = (f(deviation[1:], deviation[:-1]) for f in (torch.minimum, torch.maximum))
    cut = (most > MOST_APART * least) | (mean.diff().abs() > most)
    ends = [WINDOW * (i + 1) for i in cut.nonzero().flatten()[:MOST_PARTS].tolist()]
    return [[end - begin, t[begin:end].mean().item(), t[begin:end].std().item()]
            for begin, end in zip([0, *ends], [*ends, len(t)])]


def drawn(recipe: dict[str, Any], shape: list[int], dtype: torch.dtype, values: dict[str, Any],
          random: torch.Generator) -> torch.Tensor:
    """An input of a shape; values are the numbers of the call."""
    if "sizes" in recipe:
        return torch.tensor([problem_sizes.value_of(e, values) for e in recipe["sizes"]], dtype=dtype)
    if "values" in recipe:
        count = math.prod(shape)
        at = torch.multinomial(torch.tensor(recipe["shares"]), max(count, 1), True, generator=random)
        at = at[:count].reshape(shape)
        return torch.tensor(recipe["values"], dtype=torch.float64)[at].to(dtype)
    if len(recipe.get("fixed", ())) == math.prod(shape) > 0:
        return torch.tensor(recipe["fixed"], dtype=torch.float64).reshape(shape).to(dtype)
    low, high = recipe["low"], recipe["high"]
    if "parts" in recipe:
        lengths, mean, deviation = torch.tensor(recipe["parts"], dtype=torch.float64).T
        part = torch.arange(len(lengths)).repeat_interleave(lengths.long())
        part = part[torch.arange(shape[0]) * len(part) // shape[0]]  # the tests may have been thinned out
        t = torch.randn(shape, generator=random, dtype=torch.float64) * deviation[part] + mean[part]
        return t.clamp(low, high).to(dtype)
    if dtype.is_floating_point and recipe.get("structure") != "integers":
        t = torch.rand(shape, generator=random, dtype=torch.float64) * (high - low) + low
    else:
        top = values[recipe["below"]] if "below" in recipe else min(int(high), MOST_INTEGER) + 1
        t = torch.randint(int(low), max(top, int(low) + 1), shape, generator=random)
    if recipe.get("structure") == "nonzero":
        return _nonzero(t, values[recipe["count"]], random).to(dtype)
    return _SHAPED.get(recipe.get("structure", ""), lambda t, *_: t)(t, recipe, random).to(dtype)


def of_a_call(problem: Any, shapes: list[tuple], attributes: dict[str, Any], seed: int) -> list[torch.Tensor]:
    """The inputs of an imported problem at the sizes of a call."""
    random = torch.Generator().manual_seed(seed)
    values = problem.values(tuple(types.SimpleNamespace(shape=shape) for shape in shapes), attributes)
    return [drawn(recipe, list(shape), DTYPES[dtype], values, random) for recipe, shape, dtype
            in zip(problem.plan["recipes"], shapes, problem.plan["input_dtypes"])]


def _finite(t: torch.Tensor) -> torch.Tensor:
    """The finite elements, which recipes know alone. Of uint32 torch cannot tell the smallest."""
    t = t.long() if t.dtype == torch.uint32 else t
    return t[t.isfinite()].flatten()


def _triangle(t: torch.Tensor, recipe: dict[str, Any], _: torch.Generator) -> torch.Tensor:
    t = t.triu() if recipe["upper"] else t
    return t.tril() if recipe["lower"] else t


def _symmetric(t: torch.Tensor, *_: Any) -> torch.Tensor:
    return t.triu() + t.triu(1).mT if t.shape[-1] == t.shape[-2] else t


def _places(t: torch.Tensor, recipe: dict[str, Any], random: torch.Generator) -> torch.Tensor:
    there = torch.rand(t.shape, generator=random) < recipe["share"]
    return torch.where(there, torch.tensor(recipe["value"], dtype=t.dtype), t)


def _nonzero(t: torch.Tensor, count: int, random: torch.Generator) -> torch.Tensor:
    """With so many elements that are not 0."""
    there = torch.randperm(t.numel(), generator=random) < count
    return torch.where(there.reshape(t.shape), torch.where(t == 0, 1, t), 0)


def _shares(t: torch.Tensor, *_: Any) -> torch.Tensor:
    return t.abs() / t.abs().sum(-1, keepdim=True) if t.numel() else t


def _one_hot(t: torch.Tensor, recipe: dict[str, Any], random: torch.Generator) -> torch.Tensor:
    at = torch.randint(max(t.shape[-1], 1), (*t.shape[:-1], 1), generator=random)
    return torch.zeros_like(t).scatter(-1, at, max(recipe["high"], 1)) if t.numel() else t


def _permutation(t: torch.Tensor, _: dict[str, Any], random: torch.Generator) -> torch.Tensor:
    return torch.randperm(t.numel(), generator=random).reshape(t.shape)


_NAMES = {
    "is triangular or diagonal": "triangle", "is symmetric": "symmetric", "is sorted": "sorted",
    "has one element in each row that is not 0": "one hot", "is a permutation": "permutation",
    "has one value alone": "one value", problem_structure.FEW_VALUES: "few values",
    problem_structure.OFTEN: "often", problem_structure.SHARES: "shares", "has integers alone": "integers",
}

_SHAPED = {
    "triangle": _triangle, "symmetric": _symmetric, "often": _places, "one hot": _one_hot,
    "permutation": _permutation, "shares": _shares,
    "sorted": lambda t, *_: t.sort(-1).values if t.dim() else t,
    "one value": lambda t, *_: t.flatten()[:1].expand(t.numel()).reshape(t.shape) if t.numel() else t,
}
