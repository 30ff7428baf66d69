"""The calls that a format's own check makes, and how they are described. Each format's module has
trials(problem, device): the words for its check, and the calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

MOST_ELEMENTS = 1 << 20
"""Of the tensors of a trial on a processor."""

TRIALS, SEED = 5, 42
"""Of KernelBench; the seed of the other formats where their tests name none."""


@dataclass
class Trial:
    """A call of the format's check."""

    name: str
    tensors: tuple
    attributes: dict[str, Any]
    values: dict[str, Any]  # the numbers of the call by their names in the problem
    accepts: Callable[[list, list], bool]  # what it says of an answer next to the reference's


def test_trials(problem: Any, name: str, test: dict[str, Any], device: str,
                accepts: Callable) -> Iterator[Trial]:
    """The trial of a test of a function's parameters, if it is small enough."""
    tensors = tuple(test[n] for n, word in problem.plan["signature"] if word in ("input", "inout", "sizes"))
    values = {n: test[n] for n, word in problem.plan["signature"] if word in ("number", "extra")}
    for n, word in problem.plan["signature"]:
        if word == "sizes":
            values.update({f"{n}_{i}": size for i, size in enumerate(test[n].tolist())})
    if device != "cpu" or sum(t.numel() for t in tensors) <= MOST_ELEMENTS:
        yield Trial(name, tensors, attributes_of(problem.plan, values), values, accepts(test))


def attributes_of(plan: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a call by the values of the problem's constants."""
    return {place["attribute"]: values[n] for n, place in plan["constants"].items()
            if place and "attribute" in place and n in values}


def elements_of(plan: dict[str, Any], values: dict[str, Any]) -> int:
    """About how many elements the tensors of a test have: as many as its own have at its own sizes,
    scaled."""
    share = 1.0
    for n, size in plan["own"].items():
        share *= values[n] / max(1, size)
    return int(plan["own_elements"] * share)


def words(values: dict[str, Any]) -> str:
    """Values by their names."""
    return ", ".join(f"{n} = {v}" for n, v in values.items())


def tolerance_words(check: dict[str, float]) -> str:
    """A tolerance."""
    return f"atol {check['atol']:g} and rtol {check['rtol']:g}"
