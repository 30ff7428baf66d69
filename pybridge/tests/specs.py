"""The operators' specs and findings as data, read from their rooms: what a call of an operator looks like."""

from __future__ import annotations

import functools
import itertools
import math
import re
import tomllib
from dataclasses import dataclass
from typing import Any

import torch

from client import OPERATORS

from tensors import DTYPES

CATALOG = OPERATORS.parent / "internal" / "catalog"
NAMES = tuple(sorted(path.stem for path in CATALOG.glob("*/*.toml") if path.stem == path.parent.name))
_FUNCTIONS = {
    "ceildiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
    "sqrt": math.sqrt,
    "__builtins__": {},
}


@functools.cache
def spec_of(op: str) -> dict[str, Any]:
    """The spec of an operator as its file has it."""
    return tomllib.loads((CATALOG / op / f"{op}.toml").read_text())


@functools.cache
def findings_of(op: str) -> list[dict[str, Any]]:
    """What is known to be wrong of libraries' rows of an operator."""
    path = CATALOG / op / "findings.toml"
    return tomllib.loads(path.read_text())["findings"] if path.exists() else []


def evaluate(text: Any, values: dict[str, Any], whole: bool = True) -> Any:
    """An expression of a spec, in integers or not; a number is itself."""
    return (
        eval(re.sub(r"(?<!/)/(?!/)", "//", text) if whole else text, _FUNCTIONS, dict(values))
        if isinstance(text, str)
        else text
    )


@dataclass
class Sizes:
    """One size of an operator in one dtype: what every shape and dtype of its tensors follows from."""

    op: str
    dtype: str  # the case's name; "e5m2_e4m3" has two parts
    dims: dict[str, int]
    attributes: dict[str, Any]

    def shape_of(self, tensor: dict[str, Any]) -> tuple[int, ...]:
        """The sizes of a tensor of the spec."""
        shape = tensor["shape"]
        while isinstance(shape, dict):
            name, choices = next(iter(shape.items()))
            shape = choices[self.attributes[name]]
        return tuple(evaluate(text, self.dims | self.numbers()) for text in shape)

    def numbers(self) -> dict[str, Any]:
        """The attributes as expressions see them: an enumeration by its index."""
        values = {a["name"]: a.get("values") for a in spec_of(self.op).get("attributes", [])}
        return {n: values[n].index(v) if isinstance(v, str) else v for n, v in self.attributes.items()}

    def dtype_of(self, tensor: dict[str, Any]) -> torch.dtype:
        """The dtype of a tensor of the spec; fp64, which no spec names, is that of all but integers."""
        said = tensor.get("dtype", "")
        if self.dtype == "fp64":
            return DTYPES[said] if "int" in said else torch.float64
        if said in ("", "$1", "$2"):
            parts = self.dtype.split("_")
            return DTYPES[{"": self.dtype, "$1": parts[0], "$2": parts[-1]}[said]]
        return DTYPES[self.attributes[said[1:]] if said.startswith("$") else said]

    def trivial(self) -> bool:
        """Whether the answer says little, as the spec has it: nothing to add up, one column."""
        return any(
            evaluate(text, self.dims | self.numbers())
            for text in spec_of(self.op)["check"].get("trivial", {}).get("shapes", [])
        )


def sizes(op: str, dtype: str, given: dict[str, Any]) -> Sizes:
    """Sizes from some dims and attributes: the spec's defaults are the others. A float is a number of
    fp32."""
    spec, attributes = spec_of(op), {}
    dims = {d["name"]: given[d["name"]] for d in spec["dims"] if d["name"] in given}
    for a in spec.get("attributes", []):
        value = given.get(a["name"], a["default"])
        if a["type"] in ("int", "float"):
            value = evaluate(value, dims, a["type"] == "int")
        attributes[a["name"]] = float(torch.tensor(value)) if a["type"] == "float" else value
    for d in spec["dims"]:
        if d["name"] not in dims:
            dims[d["name"]] = evaluate(d["default"], dims | attributes)
    return Sizes(op, dtype, dims, attributes)


def words_of(op: str) -> list[dict[str, Any]]:
    """Every combination of the values that the bools and enums of an operator have."""
    words = {
        a["name"]: a.get("values", [False, True])
        for a in spec_of(op).get("attributes", [])
        if a["type"] in ("bool", "enum")
    }
    return [dict(zip(words, values)) for values in itertools.product(*words.values())]


def quick_sizes(op: str, dtype: str) -> list[Sizes]:
    """The shapes that the spec marks as quick, with every combination of the values that its bools and
    enums have."""
    shapes = [s for s in spec_of(op)["check"]["shapes"] if s.get("quick")]
    chosen = words_of(op)
    return [
        sizes(op, dtype, chosen[i % len(chosen)] | shapes[i % len(shapes)])
        for i in range(max(len(shapes), len(chosen)))
    ]


def compiled_sizes(op: str) -> list[tuple[Sizes, str]]:
    """The sizes of [[compile]] in each of their dtypes and layouts, with every value of the bools and enums
    that they leave open."""
    spec = spec_of(op)
    return [
        (sizes(op, dtype, c["dims"] | words | c.get("attributes", {})), layout)
        for c in spec.get("compile", [])
        for words in words_of(op)
        if all(words.get(name, value) == value for name, value in c.get("attributes", {}).items())
        for dtype in c.get("dtypes", spec["dtypes"][-1:])
        for layout in c.get("layouts", ["contiguous"])
    ]


def backward_inputs(op: str) -> list[dict[str, Any]]:
    """The tensors that the backward takes: inputs, saved outputs, upstream gradients, or what the backward
    itself declares. An operator without a backward has none."""
    spec = spec_of(op)
    if "backward" not in spec:
        return []
    own = {t["name"]: t for t in [*spec["inputs"], *spec["outputs"], *spec["backward"].get("tensors", [])]}
    return [
        own.get(name) or own[name.removeprefix("grad_")] | {"name": name}
        for name in spec["backward"]["inputs"]
    ]
