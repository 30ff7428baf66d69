"""Short ways for the operators of Triton 3.6's values, `a + b`, `i < n`, `pointer + i`, and for loads and
stores. Triton goes through several functions for each, and fills a block with a scalar operand. Here NumPy
gets the operands if both are integers of 32 or 64 bits, bools, or floats of one dtype that NumPy has, or if
an integer is added to a pointer. Loads and stores skip the checks if all operands have the pointers' shape.
All else goes the long way, which says what is wrong. The results are the same, bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

import interpreter_memory
from interpreter_fast_paths import constant, fits

_INTEGERS = frozenset({"int32", "int64"})
_FLOATS = frozenset({"fp16", "fp32"})
_COMPARED = _INTEGERS | _FLOATS
_BOOLS = frozenset({"int1"})

_new = object.__new__


def _handle(data: np.ndarray, dtype: tl.dtype) -> Any:
    handle = _new(interpreter.TensorHandle)
    handle.data, handle.dtype, handle.attr = data, dtype, {}
    return handle


def _value(handle: Any, dtype: tl.dtype, lhs: tl.tensor, rhs: Any) -> tl.tensor:
    """A value of a dtype that is computed from two, or from one and a number: as large as the one that is a
    block, or the larger."""
    if type(rhs) is not tl.tensor or lhs.shape is rhs.shape or type(rhs.type) is not tl.block_type:
        like = lhs
    elif type(lhs.type) is not tl.block_type:
        like = rhs
    else:
        return tl.tensor(handle, tl.block_type(dtype, [*handle.data.shape]))
    if like.dtype is not dtype:
        return tl.tensor(handle, like.type.with_element_ty(dtype))
    value = _new(tl.tensor)
    value.handle, value.type, value.dtype = handle, like.type, dtype
    value.shape, value.numel = like.shape, like.numel
    return value


def _computed(function: np.ufunc, lhs: tl.tensor, rhs: Any, dtypes: frozenset[str]) -> Any:
    """What a function makes of two values, or of one and a number: a handle of the operands' dtype. None for
    the long way."""
    dtype = lhs.dtype
    if type(rhs) is int:
        if dtype.name in _INTEGERS and dtypes >= _INTEGERS and -(1 << 31) <= rhs < 1 << 31:
            return _handle(function(lhs.handle.data, rhs), dtype)
        return None
    if type(rhs) is not tl.tensor or dtype.name not in dtypes:
        return None
    if rhs.dtype is not dtype and rhs.dtype.name != dtype.name:
        if dtype.name not in _INTEGERS or rhs.dtype.name not in _INTEGERS:
            return None
        dtype = tl.int64
    try:
        return _handle(function(lhs.handle.data, rhs.handle.data), dtype)
    except ValueError:  # of the shapes
        return None


def _meet(lhs: tl.tensor, rhs: tl.tensor) -> bool:
    """Reports whether floats have one shape, or one of them is a scalar. A product keeps its factors for the
    sum that takes it, but not where it is broadcast."""
    return lhs.shape is rhs.shape or not lhs.handle.attr and not rhs.handle.attr and (
        type(lhs.type) is not tl.block_type or type(rhs.type) is not tl.block_type)


def _arithmetic(long_way: Callable, function: np.ufunc, of_floats: str) -> Callable:
    def operation(self, other, _semantic=None):
        if self.dtype.name in _FLOATS:
            if fits(other, self.dtype):
                other = constant(interpreter.interpreter_semantic, other, self)
            if type(other) is tl.tensor and other.dtype is self.dtype and _meet(self, other):
                handle = getattr(interpreter.interpreter_builder, of_floats)(self.handle, other.handle)
                return _value(handle, self.dtype, self, other)
        elif not interpreter.interpreter_builder.options.debug:  # which looks for overflows
            handle = _computed(function, self, other, _INTEGERS)
            if handle is not None:
                return _value(handle, handle.dtype, self, other)
        return long_way(self, other)
    return operation


def _addition(long_way: Callable, function: np.ufunc, of_floats: str) -> Callable:
    add = _arithmetic(long_way, function, of_floats)

    def operation(self, other, _semantic=None):
        dtype = self.dtype
        if type(dtype) is tl.dtype or type(other) is not tl.tensor or other.dtype.name not in _INTEGERS:
            return add(self, other)
        size = max(1, self.handle.get_element_ty().primitive_bitwidth // 8)  # of a bool too
        try:
            data = self.handle.data + size * other.handle.data.astype(np.uint64)
        except ValueError:
            return long_way(self, other)
        return _value(_handle(data, self.handle.dtype), dtype, self, other)
    return operation


def _comparison(long_way: Callable, function: np.ufunc, dtypes: frozenset[str] = _COMPARED) -> Callable:
    def operation(self, other, _semantic=None):
        handle = _computed(function, self, other, dtypes)
        if handle is None:
            return long_way(self, other)
        return _value(handle, tl.int1, self, other)
    return operation


def _index(long_way: Callable) -> Callable:
    def index(self, slices, _semantic=None):
        vector = type(self.type) is tl.block_type and len(self.shape) == 1
        if vector and type(slices) is tuple and len(slices) == 2:
            whole = slices[1] if slices[0] is None else slices[0] if slices[1] is None else None
            if type(whole) is slice and whole == slice(None):  # x[:, None], x[None, :]
                data = self.handle.data[slices]
                handle = _handle(data, self.handle.dtype.scalar)
                return tl.tensor(handle, tl.block_type(self.dtype, [*data.shape]))
        return long_way(self, slices)
    return index


# ---- memory

_POLICIES = frozenset({"", "evict_first", "evict_last"})
_MODIFIERS = frozenset({"", ".cg"})  # that loads and stores have


def _pointed(pointer: Any, mask: Any, modifier: Any, policy: Any) -> tl.dtype | None:
    """The dtype of the elements that a pointer, or a block of them, points to; None for the long way."""
    if (type(pointer) is not tl.tensor or type(pointer.dtype) is tl.dtype or modifier not in _MODIFIERS
            or policy not in _POLICIES):
        return None
    if mask is not None and (type(mask) is not tl.tensor or mask.dtype.name != "int1"
                             or mask.shape is not pointer.shape or type(mask.type) is not tl.block_type):
        return None
    dtype = pointer.dtype.element_ty
    return dtype if type(dtype) is tl.dtype and dtype.name != "int1" else None


_RESTS: dict[tuple, Any] = {}


def _rest(number: Any, dtype: tl.dtype, pointer: tl.tensor) -> Any:
    """The handle of a block of a number, for the lanes that a mask leaves out."""
    key = repr(number), dtype.name, pointer.type.shape
    found = _RESTS.get(key)
    if found is None:
        semantic = interpreter.interpreter_semantic
        _, block = semantic.broadcast_impl_value(pointer, semantic.to_tensor(number))
        if len(_RESTS) >= 1024:
            _RESTS.clear()
        found = _RESTS[key] = semantic.cast(block, dtype).handle
    return found


def _loading(long_way: Callable) -> Callable:
    def load(pointer, mask=None, other=None, boundary_check=(), padding_option="", cache_modifier="",
             eviction_policy="", volatile=False, _semantic=None):
        dtype = _pointed(pointer, mask, cache_modifier, eviction_policy)
        plain = dtype is not None and not boundary_check and not padding_option
        if not plain or other is not None and (mask is None or type(other) not in (int, float)):
            return long_way(pointer, mask, other, boundary_check, padding_option, cache_modifier,
                            eviction_policy, volatile)
        rest = None if other is None else _rest(other, dtype, pointer)
        handle = interpreter_memory.load(pointer.handle, None if mask is None else mask.handle.data, rest)
        kind = pointer.type
        return tl.tensor(handle, kind.with_element_ty(dtype) if type(kind) is tl.block_type else dtype)
    return load


def _storing(long_way: Callable) -> Callable:
    def store(pointer, value, mask=None, boundary_check=(), cache_modifier="", eviction_policy="",
              _semantic=None):
        dtype = _pointed(pointer, mask, cache_modifier, eviction_policy)
        if (dtype is None or boundary_check or pointer.dtype.const or type(value) is not tl.tensor
                or value.dtype.name != dtype.name or value.shape is not pointer.shape):
            return long_way(pointer, value, mask, boundary_check, cache_modifier, eviction_policy)
        kept = None if mask is None else mask.handle.data
        interpreter_memory.store(pointer.handle, value.handle.data, kept)
        return tl.tensor(None, tl.void)
    return store


SHORT_WAYS = {
    "__add__": (_addition, np.add, "create_fadd"), "__sub__": (_arithmetic, np.subtract, "create_fsub"),
    "__mul__": (_arithmetic, np.multiply, "create_fmul"), "__radd__": (_arithmetic, np.add, "create_fadd"),
    "__rmul__": (_arithmetic, np.multiply, "create_fmul"),
    "__lt__": (_comparison, np.less), "__le__": (_comparison, np.less_equal),
    "__gt__": (_comparison, np.greater), "__ge__": (_comparison, np.greater_equal),
    "__eq__": (_comparison, np.equal), "__ne__": (_comparison, np.not_equal),
    "__getitem__": (_index,),
    "__and__": (_comparison, np.bitwise_and, _BOOLS), "__or__": (_comparison, np.bitwise_or, _BOOLS),
}

_FUNCTIONS = {"load": (_loading,), "store": (_storing,)}


def short_way(place: object, name: str, long_way: Callable) -> Callable:
    """What stands for a member of triton.language while a kernel runs: an operator's short way, which may go
    the long one."""
    known = SHORT_WAYS if place is tl.tensor else _FUNCTIONS if place in (tl, tl.core) else {}
    make, *of = known.get(name, (None,))
    return make(long_way, *of) if make else long_way
