"""Operators, specs, cases and what they expand to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from triad.go import ask
from triad.html import table as html_table
from triad.words import Words, text_of, words


@dataclass(frozen=True, repr=False)
class TensorType:
    """A tensor of a case: name, dtype, sizes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.dtype} {list(self.shape)}"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Case:
    """One thing to judge: what is computed, on which sizes, from which kind of data. `key` is the hash that
    its history is kept under."""

    op: str
    direction: str
    dtype: str
    dims: Mapping[str, int]
    attributes: Mapping[str, str]
    layout: str
    distribution: str
    upstream: str | None
    saved: str | None
    key: str
    inputs: tuple[TensorType, ...] = ()
    outputs: tuple[TensorType, ...] = ()
    bytes: int = 0
    flops: int = 0

    def __str__(self) -> str:
        sizes = " ".join(f"{n}={v}" for n, v in {**self.dims, **self.attributes}.items())
        kind = (self.distribution, self.layout, self.upstream, self.saved)
        return " ".join(filter(None, (self.op, self.direction, self.dtype, sizes, *kind)))

    __repr__ = __str__


def _case(detail: Mapping[str, Any]) -> Case:
    c = detail["case"]
    types = {side: tuple(TensorType(t["name"], t["dtype"], tuple(t["shape"] or ()), t["optional"])
                         for t in detail.get(side) or ()) for side in ("inputs", "outputs")}
    return Case(c["op"], c["pass"], c["dtype"], c["dims"], c["attributes"], c["layout"], c["distribution"],
                c["upstream"], c["saved"], detail.get("key", ""),
                bytes=detail.get("bytes", 0), flops=detail.get("flops", 0), **types)


@dataclass(frozen=True, repr=False)
class Plan(Sequence[Case]):
    """The cases that a request expands to; `skipped` are those that the device cannot hold, each with the
    reason."""

    cases: tuple[Case, ...]
    skipped: tuple[tuple[Case, str], ...] = ()

    def __len__(self) -> int:
        return len(self.cases)

    def __getitem__(self, index: Any) -> Any:
        return self.cases[index]

    def __str__(self) -> str:
        return "\n".join([*map(str, self.cases), *(f"skipped: {c}: {why}" for c, why in self.skipped)])

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Operator:
    """One operator of the catalogue: its spec. `spec` holds all of it as plain data."""

    name: str
    summary: str
    formula: str
    source: str
    dtypes: tuple[str, ...]
    dims: tuple[str, ...]
    attributes: tuple[str, ...]
    passes: tuple[str, ...]
    spec: Mapping[str, Any] = field(repr=False, compare=False, hash=False)

    def cases(self, **options: Any) -> Plan:
        """The cases that options expand to: see triad.cases."""
        return cases(self.name, **options)

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.summary}", "", f"  {self.formula}", f"  {self.source}", "",
                 f"  dtypes  {', '.join(self.dtypes)}", f"  dims    {', '.join(self.dims)}"]
        for a in self.spec["attributes"] or ():
            allowed = ", ".join(a["values"]) if a["values"] else a["type"]
            lines.append(f"  {a['name']}  {allowed}, default {a['default']}")
        for p in self.spec["passes"]:
            for side, role in (("inputs", "in "), ("outputs", "out")):
                lines += [f"  {p['pass']:8}  {role}  {t['name']}  {t['dtype'] or 'the dtype of the case'}  "
                          f"{t['shape_text']}" for t in p[side]]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = [(p["pass"], side[:-1], t["name"], t["dtype"] or "of the case", t["shape_text"])
                for p in self.spec["passes"] for side in ("inputs", "outputs") for t in p[side]]
        return html_table(("pass", "", "tensor", "dtype", "shape"), rows, f"{self.name}: {self.formula}")


class Operators(tuple):
    """The operators, one a line."""

    def __str__(self) -> str:
        width = max((len(o.name) for o in self), default=0)
        return "\n".join(f"{o.name:{width}}  {', '.join(o.dtypes):30}  {o.formula}" for o in self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(("operator", "dtypes", "formula"), [(o.name, ", ".join(o.dtypes), o.formula)
            for o in self])

    def names(self) -> list[str]:
        """The names alone."""
        return [o.name for o in self]


def _operator(spec: Mapping[str, Any]) -> Operator:
    return Operator(spec["name"], spec["summary"], spec["formula"], spec["source"], tuple(spec["dtypes"]),
                    tuple(d["name"] for d in spec["dims"]),
                    tuple(a["name"] for a in spec["attributes"] or ()),
                    tuple(p["pass"] for p in spec["passes"]), spec)


def ops() -> Operators:
    """Every operator of the catalogue."""
    return Operators(_operator(spec) for spec in ask("Operators"))


def op(name: str) -> Operator:
    """One operator; UsageError for a name that is not there."""
    return _operator(ask("Operator", str(name)))


def cases(op: str, *, level: str = "default", dtype: Words = None, pass_: Words = None,
          dims: Mapping[str, int] | None = None,
          attr: Mapping[str, Any] | None = None, device: str = "cpu", distribution: Words = None,
          layout: Words = None, upstream: Words = None,
          saved: Words = None, memory_bytes: int = 0) -> Plan:
    """The cases that a comparison would judge, without running any. level is "quick", "default" or "full"."""
    options = {"level": level, "dtypes": words(dtype), "passes": words(pass_), "dims": _sizes(dims),
               "attributes": {n: text_of(v) for n, v in (attr or {}).items()},
               "device": device, "distributions": words(distribution), "layouts": words(layout),
               "upstreams": words(upstream), "saved": words(saved),
               "memory_bytes": memory_bytes}
    got = ask("Expand", str(op), json.dumps(options))
    return Plan(tuple(map(_case, got["cases"])), tuple((_case(s), s["reason"]) for s in got["skipped"]))


def case(op: str, *, dtype: str | None = None, pass_: str = "forward", dims: Mapping[str, int],
         attr: Mapping[str, Any] | None = None, layout: str = "contiguous",
         distribution: str = "normal", upstream: str = "", saved: str = "") -> Case:
    """One case, completed: every default resolved, with its key and the dtypes and sizes of its tensors."""
    fields = {"op": op, "pass": pass_, "dims": _sizes(dims), "attributes": {n: text_of(v) for n,
        v in (attr or {}).items()}, "layout": layout,
              "distribution": distribution, "upstream": upstream, "saved": saved,
              **({"dtype": dtype} if dtype else {})}
    return _case(ask("Case", str(op), json.dumps(fields)))


def _sizes(dims: Mapping[str, int] | None) -> dict[str, Any]:
    return {name: int(v) if hasattr(v, "__index__") else v for name, v in (dims or {}).items()}


def contracts() -> dict[str, str]:
    """Every contract an implementation may declare, with its promise."""
    return {c["name"]: c["promise"] for c in ask("Contracts")}


def statuses() -> dict[str, str]:
    """Every status with what it counts as: "good", "neutral" or "bad"."""
    return {s["status"]: s["weight"] for s in ask("Statuses")}


