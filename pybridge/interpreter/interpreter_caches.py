"""What Triton 3.6's interpreter does again for every call of a device function, every block or every value,
and what here is done once. Nothing that a kernel computes changes.

* Every launch, and every call of a function that is jitted itself, such as `tl.sum` or `tl.zeros`, looks
  through all of triton.language for what has to be replaced: here that is noted once, and replaced where it
  is not yet, in a module all at once.
* Every value looks for its NumPy type in a dict that is made for it, and makes its sizes anew, each an object
  with a type of its own: here those of a shape are made once.
* Every sum and product of integers is made again in 64 bits, for an assertion that is made in debugging
  alone.
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

_patch_lang_each_time = interpreter._patch_lang
_np_dtype_each_time = interpreter._get_np_dtype
_block_type_each_time = tl.block_type.__init__
_sanitize_each_time = TritonSemantic.binary_op_sanitize_overflow_impl


# ---- what is replaced in triton.language


Seen = tuple[bool, bool]
"""Which of triton.language and its core a function sees as modules: what is replaced depends on it."""


_SEEN: weakref.WeakKeyDictionary[Callable, Seen] = weakref.WeakKeyDictionary()


def _seen(fn: Callable) -> Seen:
    """Looked for when the function is called for the first time: its file has been imported by then."""
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
    """What the interpreter puts into which places for a function that sees this."""
    modules = {str(i): module for i, module in enumerate((tl, tl.core)) if seen[i]}
    scope = _patch_lang_each_time(types.FunctionType((lambda: None).__code__, modules))
    noted: dict[object, dict[str, object]] = {}
    for place, name, _ in scope._changes:
        noted.setdefault(place, {})[name] = call_of(vars(place)[name])
    scope.restore()
    return list(noted.items())


_NOTED = {seen: _note(seen) for seen in ((True, False), (False, True), (True, True))}


@functools.cache
def _missing(seen: Seen, before: frozenset[Seen]) -> Members:
    """What is left to replace for a function that sees this, after functions that saw what is in before. It
    does not matter for which of them a member was replaced."""
    replaced = {(place, name) for earlier in before for place, members in _NOTED[earlier] for name in members}
    return [(place, {name: member for name, member in members.items() if (place, name) not in replaced})
            for place, members in _NOTED[seen]]


class _Launch(interpreter._LangPatchScope):
    """What is replaced until the end of a launch, by what its kernel and the functions that it calls see."""

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
        return _patch_lang_each_time(fn)  # which says what is missing
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
    """What blocks of one shape share; none of it changes."""

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
    """The shape that a block's sizes were made for; a tuple of Triton's takes other names for its members."""
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
            return _block_type_each_time(self, element_ty, shape)  # which says what is wrong
        found = _shape(sizes)
    if element_ty.name not in found.blocks:
        _block_type_each_time(self, element_ty, shape)  # which checks them
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
