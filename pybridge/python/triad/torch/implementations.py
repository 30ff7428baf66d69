"""The implementations of an operator on a device, and which of them a call takes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from triad.errors import Unavailable, UsageError
from triad.torch import choice, cuda, files, worker
from triad.torch.signature import DTYPES, Signature, evaluate


class Implementations:
    """The implementations of one operator."""

    def __init__(self, spec: Mapping[str, Any], forward: Signature, backward: Signature | None):
        self._name: str = spec["name"]
        self._contracts: Mapping[str, str] = spec["default_contracts"]
        self._attributes: list[Mapping[str, Any]] = spec["attributes"] or []
        self._forward, self._backward = forward, backward

    def on(self, device: torch.device, family: str = "") -> dict[str, Any]:
        """The implementations that run on a device, by name. Where a family is named, the others are not
        looked for."""
        found: dict[str, Any] = {}
        of = family.partition("/")[0]
        if device.type not in ("cpu", "cuda"):
            raise UsageError(f"{self._name}: a tensor on {device}: want one on a CPU or a CUDA device")
        if of in ("", "torch") or of == "triton" and device.type == "cuda":
            found.update(files.rows(self._name, device.type))
        attributes = json.dumps(self._attributes)
        if of == "triton" and device.type == "cpu":
            found.update(worker.rows(self._name, "triton", attributes))
        if of == "cuda" and device.type == "cpu":
            found.update(worker.rows(self._name, "cuda", attributes))
        if of in ("", "cuda") and device.type == "cuda":
            passes = [s for s in (self._forward, self._backward) if s is not None]
            names = {s.direction: [t["name"] for t in s.outputs] for s in passes}
            try:
                found.update(cuda.rows(self._name, attributes, json.dumps(names)))
            except Unavailable:
                if of:
                    raise
        return found

    def named(self, impl: str, device: torch.device) -> Any:
        """Returns the implementation of that name. Raises UsageError if the device has none."""
        rows = self.on(device, impl)
        if impl not in rows:
            raise UsageError(f"{self._name} has no implementation {impl!r} on {device.type}: it has "
                             f"{', '.join(self.names(device)) or 'none'}")
        return rows[impl]

    def names(self, device: torch.device, family: str = "") -> list[str]:
        """The names of the implementations that run on a device, all or those of a family."""
        families = ("torch", "triton", "cuda")
        if family and family not in families:
            raise UsageError(f"{self._name}: implementations of {family!r}: want one of "
                             f"{', '.join(families)}, and a device as device=")
        found: list[str] = []
        for each in [family] if family else families:
            try:
                of_family = [n for n in self.on(device, each) if n.startswith(each + "/")]
            except Unavailable:
                continue
            found += [n for n in of_family if n not in found]
        return found

    def choose(self, family: str, device: torch.device, dtype: str, dims: tuple[tuple[str, int], ...] | None,
               directions: Sequence[str], attributes: tuple[tuple[str, Any], ...], measured: bool) -> str:
        """The implementation of that name, or of a family ("": of all) the fastest that passed, else the
        portable one that takes such a call; the portable one in any case where measured is false."""
        rows = self.on(device, family)
        if family in rows:
            return family
        able = choice.portable(rows, family, dtype, self._contracts.get(dtype, ""), directions)
        passes = {name: [(d, name if d == "forward" else choice.behind(rows, name, dtype))
                         for d in directions] for name in able}
        best = []
        if measured and gpu(device):
            best = choice.fastest(self._name, dtype, None if dims is None else dict(dims),
                                  self._switches(attributes, dims), gpu(device), passes)
        for name in dict.fromkeys([*best, *able]):
            if not any(self._declines(rows[of], d, dtype, dims, device) for d, of in passes[name]):
                return name
        raise choice.refuse(self._name, family, dtype, self.names(device))

    def _switches(self, attributes: tuple[tuple[str, Any], ...],
                  dims: tuple[tuple[str, int], ...] | None) -> dict[str, Any]:
        """Returns the attributes of type bool or enum, by which cases are distinguished."""
        if not dims:
            return {}
        kinds = {a["name"]: a["type"] for a in self._attributes}
        values = self._forward.resolve(dict(attributes), dict(dims))
        return {n: v for n, v in values.items() if kinds[n] in ("bool", "enum")}

    def _declines(self, row: Any, direction: str, dtype: str, dims: tuple[tuple[str, int], ...] | None,
                  device: torch.device) -> str:
        """Returns why an implementation does not take a call of such sizes, "" if it does. accepts gets
        contiguous tensors on a GPU, and on a CPU zeros that take no memory."""
        if dims is None:
            return ""
        signature = self._forward if direction == "forward" or row.recomputes else self._backward
        assert signature is not None
        sizes = signature.every_size(dict(dims))
        attributes = signature.resolve({}, sizes)
        numbers = signature.numbers(attributes)
        parts = {"": dtype.split("_")[0], "$1": dtype.split("_")[0], "$2": dtype.split("_")[-1]}
        tensors = []
        for t in signature.inputs:
            shape = [evaluate(e, sizes | numbers) for e in signature.shape_of(t, attributes)]
            kind = DTYPES[parts.get(t["dtype"], t["dtype"])]
            if device.type == "cuda":
                tensors.append(torch.empty(shape, dtype=kind, device=device))
            else:
                tensors.append(torch.zeros((), dtype=kind, device=device).expand(shape))
        return row.declines(direction, tensors, attributes)


def gpu(device: torch.device) -> str:
    """Returns the name of a GPU as the database has it; "" for a CPU."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else ""
