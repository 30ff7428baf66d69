"""Caches for work that Triton 3.6's interpreter repeats for every call of a device function, every block or
every value. Results of kernels do not change.

* Every launch, and every call of a jitted function such as `tl.sum` or `tl.zeros`, searches all of
  triton.language for members to replace. Here the search happens once; members not yet replaced are set, all
  of a module at once.
* Every value builds a dict to look up its NumPy type, and new objects for its sizes. Here the objects of a
  shape are made once.
* Every sum and product of integers is computed a second time in 64 bits, for an assertion that only debug
  mode makes.
"""

from __future__ import annotations

import functools
import math
import types
import weakref
from collections.abc import Callable

import numpy as np
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

from interpreter_fast_paths import call_of
from interpreter_operators import short_way

_patch_lang_each_time = interpreter._patch_lang
_np_dtype_each_time = interpreter._get_np_dtype
_block_type_each_time = tl.block_type.__init__
_sanitize_each_time = TritonSemantic.binary_op_sanitize_overflow_impl


# ---- replaced members of triton.language


Seen = tuple[bool, bool]
"""Whether a function sees triton.language, and whether its core, as modules. The replaced members depend on
it."""


_SEEN: weakref.WeakKeyDictionary[Callable, Seen] = weakref.WeakKeyDictionary()


def _seen(fn: Callable) -> Seen:
    """Returns what a function sees, found at its first call, when its file has been imported."""
    found = _SEEN.get(fn)
    if found is None:
        found = _SEEN[fn] = _look(fn)
    return found


def _look(fn: Callable) -> Seen:
    values = [value for value in fn.__globals__.values() if isinstance(value, types.ModuleType)]
    return any(v is tl for v in values), any(v is tl.core for v in values)


Members = list[tuple[object, dict[str, object]]]
"""Modules and classes of Triton's, each with members by their names."""


def _note(seen: Seen) -> Members:
    """Returns the members that the interpreter replaces for a function that sees this."""
    modules = {str(i): module for i, module in enumerate((tl, tl.core)) if seen[i]}
    scope = _patch_lang_each_time(types.FunctionType((lambda: None).__code__, modules))
    noted: dict[object, dict[str, object]] = {}
    for place, name, _ in scope._changes:
        noted.setdefault(place, {})[name] = short_way(place, name, call_of(vars(place)[name]))
    scope.restore()
    return list(noted.items())


_NOTED = {seen: _note(seen) for seen in ((True, False), (False, True), (True, True))}


@functools.cache
def _missing(seen: Seen, before: frozenset[Seen]) -> Members:
    """Returns the members still to replace for a function that sees this, after functions that saw the
    elements of `before`."""
    replaced = {(place, name) for earlier in before for place, members in _NOTED[earlier] for name in members}
    return [(place, {name: member for name, member in members.items() if (place, name) not in replaced})
            for place, members in _NOTED[seen]]


class _Launch(interpreter._LangPatchScope):
    """The members that are replaced until a launch ends, for its kernel and the functions that it calls."""

    now: _Launch | None = None

    def __init__(self) -> None:
        super().__init__()
        self.seen: frozenset[Seen] = frozenset()
        self.originals: Members = []  # of modules

    def add(self, seen: Seen) -> None:
        if seen in self.seen:
            return
        for place, members in _missing(seen, self.seen):
            self._replace(place, members)
        self.seen |= {seen}

    def _replace(self, place: object, members: dict[str, object]) -> None:
        there = vars(place)
        if type(place) is types.ModuleType and members.keys() <= there.keys():
            self.originals.append((place, {name: there[name] for name in members}))
            there.update(members)
            return
        for name, member in members.items():
            self.set_attr(place, name, member)

    def restore(self) -> None:
        super().restore()
        while self.originals:
            place, members = self.originals.pop()
            vars(place).update(members)
        _Launch.now = None


def _patch_lang(fn: Callable) -> interpreter._LangPatchScope:
    seen = _seen(fn)
    if seen not in _NOTED:
        return _patch_lang_each_time(fn)  # it reports what is missing
    if _Launch.now is None:
        _Launch.now = _Launch()
    _Launch.now.add(seen)
    return _Launch.now


# ---- values


_NP_DTYPES: dict[str, np.dtype] = {}


def _get_np_dtype(dtype: tl.dtype) -> np.dtype:
    if isinstance(dtype, tl.block_type):
        dtype = dtype.element_ty
    if isinstance(dtype, tl.pointer_type):
        return np.dtype(np.uint64)
    found = _NP_DTYPES.get(dtype.name)
    if found is None:
        found = _NP_DTYPES[dtype.name] = _np_dtype_each_time(dtype)
    return found


class _Shape:
    """Immutable objects that blocks of one shape share."""

    known: dict[tuple[int, ...], _Shape] = {}

    def __init__(self, sizes: tuple[int, ...]):
        self.sizes = tl.tuple(sizes)  # of a type
        self.sizes.known = self
        self.constants = tl.tuple([tl.constexpr(n) for n in sizes])  # of a value
        self.numel = tl.constexpr(math.prod(sizes))
        self.blocks: dict[str, tuple[int, str]] = {}  # by the elements' type


def _shape(sizes: tuple[int, ...]) -> _Shape:
    found = _Shape.known.get(sizes)
    if found is None:
        found = _Shape.known[sizes] = _Shape(sizes)
    return found


def _known(sizes) -> _Shape | None:
    """Returns the shape of sizes that come from this cache, else None."""
    return vars(sizes).get("known") if type(sizes) is tl.tuple else None


_SCALAR = _shape(())


def _tensor(self, handle, type: tl.dtype) -> None:
    shape = _SCALAR
    if type.is_block():
        shape = _known(type.shape) or _shape(tuple(type.shape.values))
    self.handle, self.type, self.dtype = handle, type, type.scalar
    self.shape, self.numel = shape.constants, shape.numel


def _block_type(self, element_ty: tl.dtype, shape) -> None:
    found = _known(shape)
    if found is None:
        sizes = tuple([getattr(n, "value", n) for n in shape])
        if not all(type(n) is int for n in sizes):
            return _block_type_each_time(self, element_ty, shape)  # it reports what is wrong
        found = _shape(sizes)
    if element_ty.name not in found.blocks:
        _block_type_each_time(self, element_ty, shape)  # it checks them
        found.blocks[element_ty.name] = self.numel, self.name
    self.element_ty, self.shape = element_ty, found.sizes
    self.numel, self.name = found.blocks[element_ty.name]


def _sanitize(self, lhs, rhs, operation: Callable) -> None:
    if self.builder.options.debug:
        _sanitize_each_time(self, lhs, rhs, operation)


CORRECTIONS = (
    (interpreter, "_patch_lang", _patch_lang), (interpreter, "_get_np_dtype", _get_np_dtype),
    (TritonSemantic, "binary_op_sanitize_overflow_impl", _sanitize),
    (tl.tensor, "__init__", _tensor), (tl.block_type, "__init__", _block_type),
)
