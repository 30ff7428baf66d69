"""The text of a function with what it names, so that another process can define it."""

from __future__ import annotations

import ast
import functools
import inspect
import os
import symtable
import sysconfig
import textwrap
import types
from collections.abc import Callable
from typing import Any

from triad.errors import UsageError

NUMBERS = (bool, int, float, str, bytes, type(None))


def text_of_function(function: Callable, what: str) -> tuple[str, str]:
    """A file that defines a function, and the function's name there."""
    parts = _Parts(what)
    if isinstance(function, functools.partial):
        name = parts.add_partial(function)
    else:
        name = getattr(function, "__name__", "")
        parts.add(name, function)
    head = ["from __future__ import annotations"] if parts.deferred else []
    return "\n\n".join([*head, *parts.texts]) + "\n", name


class _Parts:
    def __init__(self, what: str):
        self.what = what
        self.texts: list[str] = []
        self.values: dict[str, Any] = {}
        self.deferred = False

    def add_partial(self, partial: functools.partial) -> str:
        inner = partial.func
        self.add(inner.__name__, inner)
        for value in (*partial.args, *partial.keywords.values()):
            if not _is_plain(value):
                raise self.refused(f"the argument {value!r}, which is no number or text")
        words = "".join(f", {name}={value!r}" for name, value in partial.keywords.items())
        first = "".join(f"{value!r}, " for value in partial.args)
        self.texts.append(f"def judged_{inner.__name__}(*tensors):\n"
                          f"    return {inner.__name__}({first}*tensors{words})")
        return f"judged_{inner.__name__}"

    def refused(self, why: str) -> UsageError:
        return UsageError(f"the {self.what} cannot be judged in another process: it needs {why}. Write it "
                          "into a file, and name FILE.py:function")

    def add(self, name: str, value: Any) -> None:
        """Adds what defines a name, and first what that names."""
        if name in self.values:
            if self.values[name] is not value:
                raise self.refused(f"two things that are called {name}")
            return
        self.values[name] = value
        self.texts.append(self._defining(name, value))

    def _defining(self, name: str, value: Any) -> str:
        if isinstance(value, types.ModuleType):
            return f"import {value.__name__} as {name}"
        if _is_plain(value):
            return f"{name} = {value!r}"
        if type(value).__name__ == "constexpr" and _is_plain(value.value):
            return f"import triton.language\n{name} = triton.language.constexpr({value.value!r})"
        if type(value).__module__ == "torch" and type(value).__name__ in ("dtype", "device"):
            return f"import torch\n{name} = " + (repr(value) if str(value).startswith("torch.") else
                                                f"torch.device({str(value)!r})")
        inner = value
        while hasattr(inner, "fn"):  # what Triton makes of a function
            inner = inner.fn
        module = getattr(inner, "__module__", None)
        if not (inspect.isfunction(inner) or inspect.isclass(inner)):
            if module and getattr(inner, "__name__", None):
                return f"from {module} import {inner.__name__} as {name}"
            raise self.refused(f"{name}, a {type(value).__name__}")
        if _is_installed(inner):
            return f"from {module} import {inner.__qualname__} as {name}"
        return self._source(name, inner)

    def _source(self, name: str, inner: Any) -> str:
        try:
            text = textwrap.dedent(inspect.getsource(inner))
            tree = ast.parse(text)
        except (OSError, TypeError, SyntaxError):
            raise self.refused(f"the source of {name}, which is not here") from None
        if not isinstance(tree.body[0], (ast.FunctionDef, ast.ClassDef)):
            raise self.refused("a lambda") from None
        known = dict(getattr(inner, "__globals__", None) or vars(inspect.getmodule(inner)))
        if inspect.isfunction(inner):
            known.update(inspect.getclosurevars(inner).nonlocals)
            self.deferred = self.deferred or bool(inner.__code__.co_flags & 0x1000000)
        for named in _globals_of(symtable.symtable(text, name, "exec")):
            if named in known and named not in (name, tree.body[0].name):
                self.add(named, known[named])
        alias = tree.body[0].name
        return text if alias == name else f"{text}\n{name} = {alias}"


def _globals_of(table: symtable.SymbolTable) -> list[str]:
    """The names that a text takes from what is around it, in alphabetical order."""
    top = table.get_type() == "module"
    found = {s.get_name() for s in table.get_symbols() if s.is_referenced() and (top or s.is_global())}
    for child in table.get_children():
        found.update(_globals_of(child))
    return sorted(found)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return isinstance(value, NUMBERS)


def _is_installed(thing: Any) -> bool:
    """Whether another process finds a function or class where this one did: in a package."""
    try:
        file = inspect.getsourcefile(thing) or ""
    except TypeError:  # of C
        return True
    return any(os.path.commonpath([file, folder]) == folder for kind in ("stdlib", "purelib", "platlib")
               if (folder := sysconfig.get_path(kind)) and os.path.isabs(file))
