"""Implementations from the operator files, in this process: PyTorch's rows everywhere, Triton's on a GPU."""

from __future__ import annotations

import functools
import importlib.util
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from triad.errors import Unavailable

PACKAGE = Path(__file__).absolute().parent.parent
OPERATORS, BRIDGE = PACKAGE / "_operators", PACKAGE / "_pybridge"
_lock = threading.Lock()


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise Unavailable(f"{path}: the operator file is not here: install the package again")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and inspect look a module up by name
    spec.loader.exec_module(module)
    return module


def catalogue() -> list[Mapping[str, Any]]:
    """The spec of every operator, as triad.ops() has it, without Go."""
    path = OPERATORS / "catalogue.json"
    try:
        return json.loads(path.read_text())
    except OSError as e:
        raise Unavailable(f"{path}: {e.strerror}: install the package again") from None


@functools.cache
def _shared() -> tuple[str, ...]:
    """What operators' files import, each after those that it imports itself. Other modules of the bridge may
    need packages that are not here, as that of cuTile does."""
    sources = {path.stem: path.read_text() for path in (BRIDGE / "operators").glob("*.py")}

    def imports(text: str) -> set[str]:
        return sources.keys() & re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE)

    wanted: set[str] = set()
    new = set().union(*(imports((OPERATORS / f"{spec['name']}.py").read_text()) for spec in catalogue()))
    while new:
        wanted |= new
        new = set().union(*(imports(sources[name]) for name in new)) - wanted
    return tuple(TopologicalSorter({name: imports(sources[name]) for name in wanted}).static_order())


@contextmanager
def _lent(names: Sequence[str]) -> Iterator[None]:
    """Modules of the bridge under the names that operators' files import them by, for as long as one loads:
    somebody else may have modules of these names."""
    theirs = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    try:
        for name in names:
            own = f"triad._pybridge.{name}"
            sys.modules[name] = sys.modules.get(own) or _load(own, BRIDGE / "operators" / f"{name}.py")
        yield
    finally:
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(theirs)


@functools.cache
def module(op: str) -> ModuleType:
    """The operator's file, loaded once."""
    with _lock, _lent(_shared()):
        return _load(f"triad._operators.{op}", OPERATORS / f"{op}.py")


@contextmanager
def autograd_inside() -> Iterator[None]:
    """Below a custom operator torch has switched autograd's dispatch off; a row that goes through autograd
    needs it for its own tensors."""
    include, exclude = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()
    for key in (torch._C.DispatchKey.AutogradFunctionality, torch._C.DispatchKey.AutogradOther,
                torch._C.DispatchKey.AutogradNestedTensor,
                torch._C.DispatchKey.ADInplaceOrView):
        exclude = exclude.remove(key)
    with torch._C._ForceDispatchKeyGuard(include, exclude):
        yield


class FileRow:
    """One Implementation of an operator file."""

    fresh = False

    def __init__(self, implementation: Any):
        self._row = implementation
        self.name = self.follows = implementation.name
        self.recomputes: bool = implementation.recomputes
        self.compiled: bool = implementation.compiled

    def outputs(self, direction: str, dtype: str) -> tuple[str, ...]:
        """The names that a pass gives for a dtype; empty where it has no such pass or does not take the
        dtype."""
        return (self._row.gives(direction) if self._row.function(direction)
                and dtype in self._row.dtypes_of(direction) else ())

    def contract(self, direction: str, dtype: str) -> str:
        """The contract it declares."""
        return self._row.contract_of(direction, dtype)

    def declines(self, direction: str, tensors: Sequence[torch.Tensor], attributes: Mapping[str, Any]) -> str:
        """Why it does not take this call, "" where it does."""
        return (self._row.accepts(direction, *tensors, **attributes) or "") if self._row.accepts else ""

    def prepared(self, direction: str, dtype: str, attributes: Mapping[str, Any],
                 results: Sequence[tuple]) -> Callable[..., Any]:
        """A function of the tensors that calls it."""
        return lambda tensors: self.run(direction, dtype, tensors, attributes, results)

    def run(self, direction: str, dtype: str, tensors: Sequence[torch.Tensor], attributes: Mapping[str, Any],
            results: Sequence[tuple]) -> list[torch.Tensor | None]:
        """Calls it; the outputs in the order of results, None for one that it does not give."""
        if direction == "forward":
            value = self._row.function(direction)(*tensors, **attributes)
        else:
            with autograd_inside(), torch.no_grad():
                value = self._row.function(direction)(*tensors, **attributes)
        given = dict(zip(self._row.gives(direction), value if isinstance(value, tuple) else (value,)))
        return [given.get(name) for name, *_ in results]


@functools.cache
def rows(op: str, device: str) -> dict[str, FileRow]:
    """The rows of an operator file that run in this process for tensors on a device. Peers are measured, not
    called, and so are rows on two devices: torch's tensors lie on one."""
    return {i.name: FileRow(i) for i in module(op).IMPLEMENTATIONS if not i.module and i.devices == 1
            and (device == "cuda" or i.name.startswith("torch/"))}
