"""Imports torch without what it imports for compilers alone, a quarter of the time it takes: the shapes of
operators on the device meta, and with them the decompositions and references that they are made of.

Whoever imports or names these afterwards gets them: torch.compile and FakeTensor do. A file that speaks of
the device meta itself asks for them with complete(). Nothing that is computed on a device changes.
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
"""Registers the shapes. torch asks for it at the end of its own import and looks at nothing in it;
torch._decomp imports it too."""

LATER = ("torch._decomp", "torch._prims", "torch._refs")
"""What they are made of. All of these import each other in circles, which hold together where the shapes come
first, as in torch's own import: so whatever part of torch is imported later waits for them."""


def without_metas() -> bool:
    """Imports torch so, and says whether that was possible: where not, what is left of it is of no use, and
    only another process can import it. Where it is not here at all a worker says so."""
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
    lazy = getattr(torch, "_lazy_modules", None)  # what torch imports where it is named
    if not isinstance(lazy, set):
        return False
    lazy.update(name.removeprefix("torch.") for name in (*LATER, METAS))
    sys.meta_path.insert(0, _FIRST)
    return True


class _First(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads the first part of torch that is imported later, and the shapes before it. A part that somebody
    only looks for is none."""

    def __init__(self) -> None:
        self.is_over = False

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if self.is_over or name == METAS or not name.startswith("torch."):
            return None
        found = (f.find_spec(name, path, target) for f in sys.meta_path if f is not self)
        real = next(filter(None, found), None)
        return real and importlib.machinery.ModuleSpec(name, self, origin=real.origin)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """An empty one, which the real one replaces."""

    def exec_module(self, module: types.ModuleType) -> None:
        self.is_over = True
        del sys.modules[module.__name__]
        importlib.import_module(METAS)
        importlib.import_module(module.__name__)  # what stands in sys.modules is what the import gives


_FIRST = _First()


def complete() -> None:
    """Imports what was left out, where torch has it."""
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(METAS)


def may_ask(text: str) -> bool:
    """Says whether a file speaks of the device meta, or of torch.ops.prims, which only exist then."""
    return re.search(r"\bmeta\b|[Ff]ake_?[Tt]ensor|\bprims\b", text) is not None


def may_be_asked_by(modules: set[str]) -> bool:
    """Says whether one of these modules is of a package that may use the device meta: any that is neither
    torch, Triton or NumPy nor Python's own."""
    packages = {name.partition(".")[0] for name in modules}
    return not packages <= {"torch", "triton", "numpy", *sys.stdlib_module_names}
