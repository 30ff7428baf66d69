"""Imports a Python file of the user's own and calls what it defines, for the operator file that triad writes
beside it (internal/ownfile/shim/python.go).

The file is imported as part of its package: relative imports work, the roots of its package and of its
repository and what PYTHONPATH names are searched for what it imports. own_lines.py runs its lines.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import math
import os
import re
import sys
import traceback
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import gpu_stand_in
import own_lines
import peers
import torch_import
from implementation import Autograd, next_power_of_2

PATHS = "TRIAD_USER_PYTHONPATH"
"""The PYTHONPATH of whoever started triad. The worker itself runs without it: a package there may be called
like a part of ours."""

ROOTS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""What lies at the root of a repository."""

SHOWING = ("matplotlib", "pandas", "pytest", "seaborn", "tabulate", "tqdm", "task",
           "ipdb")
"""Packages that show and test what a file computes, and the module with the types of the competitions that
ask for custom_kernel(data): where one is not here, something that takes every call stands for it."""


def load(path: str) -> types.ModuleType:
    """Imports the file. What goes wrong is an ImportError with the line of the file; what is missing here
    says so, with the line that installs it."""
    sys.dont_write_bytecode = True  # the folder is the user's
    text = Path(path).read_text(encoding="utf-8-sig", errors="replace")  # editors put a mark of UTF-8
    if os.environ.get("TRIAD_DEVICE") == "cpu" or not torch.cuda.is_available():
        gpu_stand_in.stand_in()
    else:
        peers.reach()  # cuTile, whose kernels run on a GPU alone: here, or in a file that this one imports
    if _SHOWS not in sys.meta_path:
        sys.meta_path.append(_SHOWS)  # behind whatever finds the real ones
    before = set(sys.modules)
    if torch_import.may_ask(text):
        torch_import.complete()
    module, runs = _module(Path(path), text)
    if not runs:
        return module
    try:
        with gpu_stand_in.meant():
            own_lines.run(path, text, module)
    except SyntaxError:
        raise
    except BaseException as e:
        frames = traceback.extract_tb(e.__traceback__)
        own = [frame for frame in frames if frame.filename == path]
        imports = own and re.match(r"(?:from|import)\b", own[-1].line or "")
        why = own_lines.sentence(e) + (f" (raised in {frames[-1].filename})" if imports else "")
        raise ImportError(f"triad: {path}:{own[-1].lineno if own else 1}: {why}") from e
    if torch_import.may_be_asked_by(set(sys.modules) - before - {module.__name__}):
        torch_import.complete()
    return module


# ---- the package


def _module(path: Path, text: str) -> tuple[types.ModuleType, bool]:
    """The module of a file, with its package and the paths that are searched for what it imports, and whether
    its lines are still to run: a package may have imported it, and what registers itself does so once."""
    folders = _packages(path, text)
    root = folders[0].parent if folders else path.parent
    for place in reversed([path.parent, root, *_roots(path), *os.environ.get(PATHS, "").split(os.pathsep)]):
        if str(place) and str(place) in sys.path:
            sys.path.remove(str(place))
        if str(place) and not (place == path.parent and _hides_package(path, text)):
            sys.path.insert(0, str(place))
    names = [folder.name for folder in folders]
    if names and names[0] in sys.modules:  # a folder called like a package that is here
        names[0] = "triad_own_" + names[0]
    for depth, folder in enumerate(folders):
        _package(".".join(names[:depth + 1]), folder)
    name = ".".join([*names, path.stem if names else "triad_own_" + path.stem])
    there = sys.modules.get(name)
    if there is not None and names and Path(getattr(there, "__file__", None) or "") == path:
        return there, False
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    return module, True


def _hides_package(path: Path, text: str) -> bool:
    """Whether a file beside this one has the name of a package of the repository from which this one
    imports a module."""
    return any((path.parent / f"{name}.py").is_file() and any((root / name).is_dir() for root in _roots(path))
               for name in re.findall(r"(?m)^\s*(?:from|import)\s+(\w+)\.", text))


def _packages(path: Path, text: str) -> list[Path]:
    """The folders that are the packages of a file, the outermost first: those with an __init__.py, and as
    many as the dots of its relative imports ask for."""
    dots = [len(m[1]) for m in re.finditer(r"(?m)^\s*from\s+(\.+)", text)]
    folders: list[Path] = []
    folder = path.parent
    deepest = max(dots, default=0)
    while folder != folder.parent and ((folder / "__init__.py").is_file() or len(folders) < deepest):
        folders.insert(0, folder)
        folder = folder.parent
    return folders


def _roots(path: Path) -> list[Path]:
    """The root of a file's repository, and its folder src."""
    for folder in path.parents:
        if any((folder / mark).exists() for mark in ROOTS):
            return [folder, *([folder / "src"] if (folder / "src").is_dir() else [])]
    return []


def _package(name: str, folder: Path) -> None:
    """Imports a package that a file is part of. One whose own imports fail is there without what it
    defines: the file may need none of it."""
    start = folder / "__init__.py"
    spec = importlib.util.spec_from_file_location(name, start if start.is_file() else None,
                                                  submodule_search_locations=[str(folder)])
    if spec is None:
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
    package = importlib.util.module_from_spec(spec)
    sys.modules[name] = package
    if spec.loader is None:
        return
    try:
        with gpu_stand_in.meant():
            spec.loader.exec_module(package)
    except Exception:
        print(f"triad: the package {name} of the file cannot be imported:\n{traceback.format_exc()}",
              file=sys.stderr)


class _Shows(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the packages of SHOWING, and theirs."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] not in SHOWING:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Showing(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """It has nothing to run."""


_SHOWS = _Shows()


class _Showing(types.ModuleType):
    """A module whose names stand for Anything."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


class Anything:
    """Takes every call and leaves what it decorates, or goes through, as it is."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        wraps = args and (callable(args[0]) or hasattr(args[0], "__iter__") and type(args[0]) is not str)
        return args[0] if wraps and len(args) == 1 else Anything()


# ---- its calls


@contextlib.contextmanager
def called() -> Iterator[None]:
    """What a call of what the file defines runs within."""
    with own_lines.noticed(), gpu_stand_in.meant():
        yield


def uses_triton(module: types.ModuleType) -> bool:
    """Says whether the file, or another one that it imports and that is of no library, uses Triton."""
    root = getattr(module, "__name__", "").partition(".")[0]
    path = Path(module.__file__)
    places = tuple(f"{place}{os.sep}" for place in (path.parent, *_roots(path)))
    for name, other in list(sys.modules.items()):
        file = getattr(other, "__file__", None) or ""
        near = other is module or name.startswith(root + ".") or file.startswith(places)
        if near and "site-packages" not in file and any(
                isinstance(v, types.ModuleType) and v.__name__.partition(".")[0] == "triton"
                for v in vars(other).values()):
            return True
    return False


left_out = own_lines.left_out


def power_of_2(n: int) -> int:
    """The smallest power of two that is at least n, for a tile."""
    return next_power_of_2(n)


def factor(n: int, which: int) -> int:
    """The smaller or the larger of the two factors of n that are nearest to each other, as 1 or 2."""
    smaller = next((k for k in range(math.isqrt(max(n, 0)), 0, -1) if n % k == 0), 1)
    return smaller if which == 1 else n // smaller


def default(function: Any, name: str) -> Any:
    """The default of a parameter, for a call by position."""
    own_lines.must_be_here(function)
    return inspect.signature(function).parameters[name].default


class ThroughAutograd(Autograd):
    """The backward of a torch.autograd.Function: what "cuda" means holds there too."""

    def __call__(self, *tensors: torch.Tensor, **attributes: Any) -> tuple:
        with called():
            return super().__call__(*tensors, **attributes)


class Module:
    """A module of the file, or another class whose objects are called, made for the sizes and attributes of a
    call: init by name, and what the file's get_init_inputs() has for the others. Those of its parameters
    that are called weights are ours."""

    _made: dict[Any, torch.nn.Module] = {}

    def __init__(self, file: types.ModuleType, name: str, init: dict[str, Any], weights: tuple[str, ...]):
        self.kind, self.name, self.weights = getattr(file, name), name, weights
        self.init = dict(init)
        taken = [p for p in inspect.signature(self.kind.__init__).parameters.values()][1:]
        for parameter, value in zip(taken, (getattr(file, "get_init_inputs", None) or tuple)()):
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                self.init.setdefault(parameter.name, value)
        self.wanting = [p.name for p in taken if p.default is p.empty and p.name not in self.init
                        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]

    def _module(self) -> torch.nn.Module:
        key = (self.kind, repr(sorted(self.init.items())))
        if key not in self._made:
            with called():
                made = self.kind(**self.init)
                self._made[key] = made.eval() if isinstance(made, torch.nn.Module) else made
        return self._made[key]

    def has_others(self) -> str | None:
        """Says what it asks for when it is made that nothing gives, else which parameters and weights it has
        that the operator has none for."""
        if self.wanting:
            return (f"{self.name} is made with {', '.join(self.wanting)}, and nothing says what that is: "
                    "return the arguments in order from a function get_init_inputs() of the file")
        if not isinstance(self._module(), torch.nn.Module):
            return None
        others = sorted({n for n, _ in self._module().named_parameters()} ^ set(self.weights))
        return (f"{self.name} has parameters that the operator knows nothing of, or lacks some: "
                f"{', '.join(others)}") if others else None

    def call(self, weights: dict[str, torch.Tensor], arguments: dict[str, Any]) -> Any:
        """Its forward, with these weights."""
        if not isinstance(made := self._module(), torch.nn.Module):
            return (made if callable(made) else made.forward)(**arguments)
        tensors = [t for t in [*arguments.values(), *weights.values()] if isinstance(t, torch.Tensor)]
        device = tensors[0].device
        return torch.func.functional_call(made.to(device), weights, (), arguments)
