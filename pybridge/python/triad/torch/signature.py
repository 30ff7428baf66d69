"""What a spec says of a call: which dims its tensors have, which dtypes, which shapes come out."""

from __future__ import annotations

import ctypes
import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from triad.errors import UsageError

DTYPES = {
    "fp64": torch.float64, "fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2, "int64": torch.int64, "int32": torch.int32, "int8": torch.int8,
    "uint8": torch.uint8, "bool": torch.bool, "uint32": torch.uint32,
    "e2m1x2": torch.float4_e2m1fn_x2,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
_CASE = ("", "$1", "$2")  # dtypes of a spec that are the case's
_FUNCTIONS = {"ceildiv": lambda a, b: -(-a // b), "min": min, "max": max, "sqrt": math.sqrt,
              "__builtins__": {}}


@functools.cache
def _compiled(text: str, whole: bool) -> Any:
    return compile(re.sub(r"(?<!/)/(?!/)", "//", text) if whole else text, f"<{text}>", "eval")


@functools.cache
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z_][a-z_0-9]*", text))


def evaluate(text: str, values: Mapping[str, Any], whole: bool = True) -> Any:
    """An expression of a spec, in integers or not. A switch is 0 or 1, also times a symbolic size."""
    numbers = {name: int(v) if isinstance(v, bool) else v for name, v in values.items()}
    return eval(_compiled(text, whole), _FUNCTIONS, numbers)


def _size_of(text: str, size: Any, dims: Sequence[str], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The dim that an expression of a size gives away: "segments + 1" is one more than segments, "k / 2" half
    of k, "heads * groups" is groups times heads where groups is an attribute, and "ceildiv(seq, 64)" is the
    number of blocks of 64, all of them whole."""
    # torch.compile goes through this: no regular expression, which it can follow only once it is compiled
    name, _, block = text.removeprefix("ceildiv(").removesuffix(")").partition(", ")
    if name in dims and block.isdecimal():
        return {name: size * int(block)}
    name, _, parts = text.partition(" / ")
    if name in dims and parts.isdecimal():
        return {name: size * int(parts)}
    name, _, factor = text.partition(" * ")
    times = attributes.get(factor)
    if name in dims and type(times) is int and times > 0:
        return {name: size // times}
    name, _, more = text.partition(" + ")
    return {name: size - int(more or 0)} if name in dims and (more or "0").isdecimal() else {}


class Signature:
    """One pass of an operator: names and order of its tensors and attributes, as the spec declares them."""

    def __init__(self, spec: Mapping[str, Any], direction: str):
        self.op, self.direction = spec["name"], direction
        of = next(p for p in spec["passes"] if p["pass"] == direction)
        self.inputs: list[Mapping[str, Any]] = of["inputs"]
        self.outputs: list[Mapping[str, Any]] = of["outputs"]
        self.dtypes: list[str] = of["dtypes"]
        self.dims = [d["name"] for d in spec["dims"]]
        self._implied = {d["name"]: d["default"] for d in spec["dims"] if d["implied"]}
        self.attributes = spec["attributes"] or []
        self.require: list[str] = spec["require"] or []
        self._required_floats = [a for a in self.attributes if a["type"] == "float"
                                 and any(a["name"] in _words(rule) for rule in self.require)]

    def shape_of(self, tensor: Mapping[str, Any], attributes: Mapping[str, Any]) -> list[str]:
        """The expressions of a tensor's sizes: the spec may choose them by an attribute."""
        shape = tensor["shape"]
        while isinstance(shape, dict):
            name, choices = next(iter(shape.items()))
            shape = choices[attributes[name]]
        return shape

    def sizes(self, tensors: Sequence[torch.Tensor], attributes: Mapping[str, Any]) -> dict[str, Any]:
        """The dims by name as the tensors show them, as a case has them: an implied one that is its default
        is left out. Nothing is checked."""
        found: dict[str, Any] = {}
        for t, x in zip(self.inputs, tensors):
            for text, size in zip(self.shape_of(t, attributes), x.shape):
                found |= _size_of(text, size, self.dims, attributes)
        for name, of in self._implied.items():
            if type(found[name]) is int and type(found[of]) is int and found[name] == found[of]:
                del found[name]
        return found

    def every_size(self, sizes: Mapping[str, Any]) -> dict[str, Any]:
        """The dims of a case with the implied ones that it leaves out."""
        return {name: sizes[of] for name, of in self._implied.items()} | dict(sizes)

    def resolve(self, attributes: Mapping[str, Any], dims: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes with every default: None stands for one that depends on dims."""
        return {a["name"]: default(a, dims) if attributes.get(a["name"]) is None else attributes[a["name"]]
                for a in self.attributes}

    def numbers(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """What the spec's expressions see of the attributes: switches, integers, and enumerations by
        their index. An attribute that is None has its default, unless that depends on dims."""
        found: dict[str, Any] = {}
        for a in self.attributes:
            value = attributes.get(a["name"])
            if value is None and not depends(a):
                value = a["default"]
            if a["type"] == "enum":
                found[a["name"]] = a["values"].index(value)
            elif value is not None and a["type"] in ("bool", "int"):
                found[a["name"]] = value
        return found

    def bind(self, tensors: Sequence[torch.Tensor], attributes: Mapping[str, Any],
             declared: Sequence[Mapping[str, Any]] | None = None) -> dict[str, Any]:
        """The dims by name, from the tensors' sizes. UsageError where ranks, sizes, dtypes or devices do not
        fit the spec."""
        declared = self.inputs if declared is None else declared
        values = self.numbers(attributes)
        shapes = [self.shape_of(t, attributes) for t in declared]
        for t, shape, tensor in zip(declared, shapes, tensors):
            if tensor.dim() != len(shape):
                raise UsageError(f"{self.op}: {t['name']} has shape {list(tensor.shape)}: want "
                                 f"{t['shape_text']}")
            for text, size in zip(shape, tensor.shape):
                for name, n in _size_of(text, size, self.dims, attributes).items():
                    values.setdefault(name, n)
        given = {name: v for name, v in attributes.items() if v is not None}
        floats = {a["name"]: given[a["name"]] if a["name"] in given else default(a, values)
                  for a in self._required_floats}
        for rule in self.require:
            known = {w: v for w, v in (values | floats).items() if w in _words(rule)}
            if not evaluate(rule, known, whole=floats.keys().isdisjoint(known)):
                said = ", ".join(f"{w} is {v}" for w, v in known.items())
                raise UsageError(f"{self.op}: want {rule}: {said}")
        case = self.case_dtype(tensors, declared)
        for t, shape, tensor in zip(declared, shapes, tensors):
            for text, size in zip(shape, tensor.shape):
                want = evaluate(text, values)
                if size != want:
                    raise UsageError(f"{self.op}: {t['name']} has shape {list(tensor.shape)}: want "
                                     f"{t['shape_text']}, and {text} is {want}")
            if (t["dtype"] not in _CASE and not t["dtype"].startswith("$")
                and tensor.dtype != DTYPES[t["dtype"]]):
                raise UsageError(f"{self.op}: {t['name']} is {tensor.dtype}: want {DTYPES[t['dtype']]}")
            if tensor.device != tensors[0].device:
                raise UsageError(f"{self.op}: {t['name']} is on {tensor.device}, {declared[0]['name']} on "
                                 f"{tensors[0].device}: want one device")
        if case not in self.dtypes:
            raise UsageError(f"{self.op} {self.direction}: dtype {case}: want one of "
                             f"{', '.join(self.dtypes)}")
        return values

    def case_dtype(self, tensors: Sequence[torch.Tensor],
                   declared: Sequence[Mapping[str, Any]] | None = None) -> str:
        """The name of the case's dtype: "bf16", "e5m2_e4m3"."""
        declared = self.inputs if declared is None else declared
        found: dict[str, str] = {}
        for t, tensor in zip(declared, tensors):
            if t["dtype"] in _CASE:
                name = NAMES.get(tensor.dtype, str(tensor.dtype))
                part = "$2" if t["dtype"] == "$2" else "$1"
                if found.setdefault(part, name) != name:
                    raise UsageError(f"{self.op}: {t['name']} is {tensor.dtype}, other inputs are "
                                     f"{DTYPES.get(found[part], found[part])}: want one dtype")
        if not found:  # every tensor of the pass declares its own
            return next((d for d in self.dtypes if DTYPES.get(d.split("_")[0]) in {t.dtype for t in tensors}),
                        "")
        return "_".join(dict.fromkeys(found.values()))

    def results(self, values: Mapping[str, Any], first: torch.dtype,
                attributes: Mapping[str, Any]) -> list[tuple[str, list[Any], torch.dtype]]:
        """Name, sizes and dtype of every output."""
        def dtype_of(text: str) -> torch.dtype:
            return first if text in _CASE else DTYPES[attributes[text[1:]] if text.startswith("$") else text]
        return [(t["name"], [evaluate(e, values) for e in self.shape_of(t, attributes)], dtype_of(t["dtype"]))
                for t in self.outputs]


def default(attribute: Mapping[str, Any], dims: Mapping[str, Any]) -> Any:
    """The default of an attribute: a value, or for an int or a float an expression over dims."""
    value, kind = attribute["default"], attribute["type"]
    if kind == "float":
        return float(evaluate(value, dims, whole=False)) if isinstance(value, str) else float(value)
    return int(evaluate(value, dims)) if kind == "int" and isinstance(value, str) else value


def check(op: str, attribute: Mapping[str, Any], value: Any) -> Any:
    """The value of an attribute, of its type. UsageError says which values it takes."""
    kind, name = attribute["type"], attribute["name"]
    if kind == "enum":
        right = value in attribute["values"]
    elif kind == "bool":
        right = value is True or value is False
    elif isinstance(value, bool) or not isinstance(value, (int, float) if kind == "float" else int):
        right = hasattr(value, "node")  # a symbol of torch's, while it compiles
    else:
        right = kind == "int" or math.isfinite(value) and (not attribute["positive"] or value > 0)
    if right and kind in ("int", "float") and not hasattr(value, "node"):
        low, high = attribute["least"], attribute["below"]
        # A float as kernels get it.
        stored = ctypes.c_float(value).value if kind == "float" else value
        if low is not None and stored < low or high is not None and stored >= high:
            bounds = [f"at least {low:g}"] * (low is not None) + [f"below {high:g}"] * (high is not None)
            raise UsageError(f"{op}: {name} is {value!r}: want a number of {' and '.join(bounds)}")
    if not right:
        want = (" or ".join(map(repr, attribute["values"])) if kind == "enum"
                else {"bool": "True or False", "int": "an integer"}.get(kind, "a number above 0"
                    if attribute["positive"] else "a finite number"))
        raise UsageError(f"{op}: {name} is {value!r}: want {want}")
    return float(value) if kind == "float" and isinstance(value, int) else value


def depends(attribute: Mapping[str, Any]) -> bool:
    """Says whether the default of an attribute is an expression over dims."""
    return attribute["type"] in ("int", "float") and isinstance(attribute["default"], str)
