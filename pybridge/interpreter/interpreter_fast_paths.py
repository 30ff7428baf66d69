"""Short ways through Triton 3.6's interpreter for what most operations of a kernel are. Nothing that a kernel
computes changes: whatever is not plainly one of these goes the long way, which also says what is wrong.

* The operands of an operation have one dtype and one shape, or one dtype, or one is a pointer and the other
  an integer: the long way looks for the dtype that both become, casts both to it, and compares their shapes
  size by size.
* One operand is a number of Python: the long way makes two scalars of it and fills a block with the second,
  each time. Here the block is made once.
* A value becomes wider or narrower, between 16 bits and fp32: the long way asks about all dtypes.
* An argument is no constexpr and holds none: the long way asks for lists and tuples first.
* A value is as wide as its dtype: the long way asks two functions.
* A member of triton.language is called: the long way copies the named arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

_operands_the_long_way = TritonSemantic.binary_op_type_checking_impl
_broadcast_the_long_way = TritonSemantic.broadcast_impl_value
_cast_the_long_way = TritonSemantic.cast
_to_tensor_the_long_way = TritonSemantic.to_tensor
_handle_the_long_way = interpreter.TensorHandle.__init__
_unwrap_the_long_way = tl.core._unwrap_if_constexpr

_INTEGERS = ("int32", "int64")  # any number of 31 bits is one of theirs
_FLOATS = ("fp16", "bf16", "fp32")
_DIVIDED = ("int32", "int64", "fp32")  # quotients are not wider than they


# ---- operands


def _operands(self, lhs, rhs, allow_lhs_ptr=False, allow_rhs_ptr=False, arithmetic_check=True,
              div_or_mod=False):
    left, right = type(lhs) is tl.tensor, type(rhs) is tl.tensor
    if left and right:
        if type(rhs.dtype) is tl.dtype:
            if type(lhs.dtype) is tl.dtype:
                if arithmetic_check:
                    lhs, rhs = _alike(self, lhs, rhs, div_or_mod)
                return self.broadcast_impl_value(lhs, rhs)
            if allow_lhs_ptr and rhs.dtype.name in _INTEGERS:
                return self.broadcast_impl_value(lhs, rhs)
    elif left and fits(rhs, lhs.dtype, div_or_mod):
        return lhs, constant(self, rhs, lhs)
    elif right and fits(lhs, rhs.dtype, div_or_mod):
        return constant(self, lhs, rhs), rhs
    return _operands_the_long_way(self, lhs, rhs, allow_lhs_ptr, allow_rhs_ptr, arithmetic_check, div_or_mod)


_BOTH: dict[tuple[str, str, bool], tl.dtype] = {}


def _alike(self, lhs: tl.tensor, rhs: tl.tensor, div_or_mod: bool) -> tuple[tl.tensor, tl.tensor]:
    """Two values in the dtype that an operation has with them."""
    key = lhs.dtype.name, rhs.dtype.name, div_or_mod
    dtype = _BOTH.get(key)
    if dtype is None:
        dtype = _BOTH[key] = self.computation_type_impl(lhs.dtype, False, rhs.dtype, False, div_or_mod)
    return self.cast(lhs, dtype), self.cast(rhs, dtype)


def fits(number, dtype: tl.dtype, div_or_mod: bool = False) -> bool:
    """Reports whether a number becomes one of this dtype next to a value of it."""
    if div_or_mod and dtype.name not in _DIVIDED:
        return False
    if type(number) is int:
        return dtype.name in _INTEGERS and -(1 << 31) <= number < 1 << 31
    return type(number) is float and dtype.name in _FLOATS and (number != 0 or math.copysign(1, number) == 1)


_CONSTANTS: dict[tuple, np.ndarray] = {}


def constant(self, number, like: tl.tensor) -> tl.tensor:
    """A block of the number, or a scalar, of the dtype and shape of a value."""
    key = number, like.dtype.name, like.handle.data.shape, like.type.is_block()
    data = _CONSTANTS.get(key)
    if data is None:
        made = self.scalar_constant(number, like.dtype)
        if like.type.is_block():
            made = self.splat(made, like.type.shape)
        if len(_CONSTANTS) >= 1024:  # a loop may count far
            _CONSTANTS.clear()
        data = _CONSTANTS[key] = made.handle.data
    return tl.tensor(interpreter.TensorHandle(data, like.dtype), like.type)


def _broadcast(self, lhs, rhs):
    if lhs.shape is rhs.shape:
        return lhs, rhs
    if not lhs.type.is_block():
        return _filled(lhs, rhs.type), rhs
    if not rhs.type.is_block():
        return lhs, _filled(rhs, lhs.type)
    return _broadcast_the_long_way(self, lhs, rhs)


def _filled(value: tl.tensor, like: tl.block_type) -> tl.tensor:
    """A block of a scalar, of the shape of another type."""
    block = np.empty(like.shape.values, interpreter._get_np_dtype(value.dtype))
    block[...] = value.handle.data
    return tl.tensor(interpreter.TensorHandle(block, value.handle.dtype),
                     tl.block_type(value.dtype, like.shape))


_RESIZED = {("fp16", "fp32"): "create_fp_ext", ("bf16", "fp32"): "create_fp_ext",
            ("fp32", "fp16"): "create_fp_trunc", ("fp32", "bf16"): "create_fp_trunc"}


def _cast(self, value, dtype, fp_downcast_rounding=None):
    if type(value) is tl.tensor:
        if value.dtype is dtype:
            return value
        resize = _RESIZED.get((value.dtype.name, dtype.name)) if type(dtype) is tl.dtype else None
        if resize and fp_downcast_rounding is None and type(value.dtype) is tl.dtype:
            wanted = tl.block_type(dtype, value.type.shape) if value.type.is_block() else dtype
            return tl.tensor(getattr(self.builder, resize)(value.handle, wanted), wanted)
    return _cast_the_long_way(self, value, dtype, fp_downcast_rounding)


def _to_tensor(self, value, check_type=True):
    return value if type(value) is tl.tensor else _to_tensor_the_long_way(self, value, check_type)


# ---- values


def _handle(self, data: np.ndarray, dtype: tl.dtype, attr: dict | None = None) -> None:
    bits = data.itemsize * 8
    if attr is None and type(dtype) is tl.dtype and (bits <= dtype.primitive_bitwidth or bits == 8):
        self.data, self.dtype, self.attr = data, dtype, {}
    else:
        _handle_the_long_way(self, data, dtype, {} if attr is None else attr)


_PLAIN = frozenset({tl.tensor, tl.dtype, tl.block_type, int, float, bool, str, type(None)})


def _unwrap_if_constexpr(value):
    return value if type(value) in _PLAIN else _unwrap_the_long_way(value)


# ---- members of triton.language


def call_of(replacement: Callable) -> Callable:
    """What the interpreter puts in the place of a member, a lambda that holds the member."""
    member = (getattr(replacement, "__kwdefaults__", None) or {}).get("member")
    if member is None:
        return replacement
    function = getattr(member, "__wrapped__", member)  # without the question whether there is a semantic

    def call(*arguments, _semantic=None, **named):
        return function(*arguments, _semantic=interpreter.interpreter_semantic, **named)
    return call


CORRECTIONS = (
    (TritonSemantic, "binary_op_type_checking_impl", _operands),
    (TritonSemantic, "broadcast_impl_value", _broadcast), (TritonSemantic, "cast", _cast),
    (TritonSemantic, "to_tensor", _to_tensor), (interpreter.TensorHandle, "__init__", _handle),
    (tl.core, "_unwrap_if_constexpr", _unwrap_if_constexpr),
)
