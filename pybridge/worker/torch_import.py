"""Imports torch without the modules that only compilers need, which saves a quarter of the time: the shape
functions of operators on the device meta, and the decompositions and references that these use.

Code that imports or names one of them later gets it, as torch.compile and FakeTensor do. For a file that
uses the device meta directly, the worker calls complete(). Results on a device are the same either way.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import re
import sys
import types
from typing import Any

METAS = "torch._meta_registrations"
"""The module that registers the shape functions. torch imports it at the end of its own import and uses no
name of it; torch._decomp imports it too."""

LATER = ("torch._decomp", "torch._prims", "torch._refs")
"""The modules that the shape functions use. They import each other in cycles that work only if METAS comes
first, as in torch's own import, so it is imported before any other part of torch that follows."""


def without_metas() -> bool:
    """Imports torch without METAS. Returns False if that failed: torch is then half imported, and only
    another process can import it. Returns True if torch is not installed, which a worker reports."""
    if "torch" in sys.modules:
        return True
    sys.modules[METAS] = types.ModuleType(METAS)
    try:
        import torch
    except Exception as e:
        return isinstance(e, ModuleNotFoundError) and e.name == "torch"
    finally:
        sys.modules.pop(METAS, None)
    vars(torch).pop("_meta_registrations", None)
    lazy = getattr(torch, "_lazy_modules", None)  # torch imports these when they are first named
    if not isinstance(lazy, set):
        return False
    lazy.update(name.removeprefix("torch.") for name in (*LATER, METAS))
    sys.meta_path.insert(0, _FIRST)
    return True


class _First(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads METAS before the first part of torch that is imported later. Looking for a part without importing
    it loads nothing."""

    def __init__(self) -> None:
        self.is_over = False

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if self.is_over or name == METAS or not name.startswith("torch."):
            return None
        found = (f.find_spec(name, path, target) for f in sys.meta_path if f is not self)
        real = next(filter(None, found), None)
        return real and importlib.machinery.ModuleSpec(name, self, origin=real.origin)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Makes no module: exec_module imports the real one."""

    def exec_module(self, module: types.ModuleType) -> None:
        self.is_over = True
        del sys.modules[module.__name__]
        importlib.import_module(METAS)
        importlib.import_module(module.__name__)  # the import returns the entry of sys.modules


_FIRST = _First()


def complete() -> None:
    """Imports what was left out, if this torch has it."""
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(METAS)


def may_ask(text: str) -> bool:
    """Reports whether a file's text names the device meta or torch.ops.prims, which need the full import."""
    return re.search(r"\bmeta\b|[Ff]ake_?[Tt]ensor|\bprims\b", text) is not None


def may_be_asked_by(modules: set[str]) -> bool:
    """Reports whether one of these modules may use the device meta: one of any package except torch, Triton,
    NumPy and the standard library."""
    packages = {name.partition(".")[0] for name in modules}
    return not packages <= {"torch", "triton", "numpy", *sys.stdlib_module_names}
