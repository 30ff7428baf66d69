"""Multiply-adds in Triton's interpreter. The compiler fuses a product with the sum or difference that takes
it, unless a launch has `enable_fp_fusion=False` or TRITON_DEFAULT_FP_FUSION is 0: the product is not rounded.
The interpreter rounds it. So `s * scale - largest * scale` is 0 there for the largest s, and on a GPU the
rounding error of a product.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from triton import knobs
from triton.runtime import interpreter

_BUILDER = interpreter.InterpreterBuilder
_FUSED = {"fp16", "fp32"}  # of bf16 every operation is rounded; fp64 has no type that holds its products

_fuses = True  # what the running launch asks for


def _multiply(self, lhs, rhs):
    """Replaces InterpreterBuilder.create_fmul: the product keeps its factors."""
    out = self.binary_op(lhs, rhs, np.multiply)
    if _fuses and out.dtype.scalar.name in _FUSED:
        out.attr["factors"] = lhs.data, rhs.data
    return out


def _fusing(function: Callable, sign: int) -> Callable:
    """Replaces InterpreterBuilder.create_fadd (sign 1) and create_fsub (sign -1): where one operand is a
    product, the exact result rounded once. Of two products the first is not rounded."""
    def operation(self, lhs, rhs):
        if factors := lhs.attr.get("factors"):
            other, of_product, of_other = rhs, 1.0, sign
        elif factors := rhs.attr.get("factors"):
            other, of_product, of_other = lhs, sign, 1.0
        else:
            return self.binary_op(lhs, rhs, function)
        with np.errstate(all="ignore"):
            product = factors[0].astype(np.float64) * factors[1]
            exact = of_product * product + of_other * other.data.astype(np.float64)
            return interpreter.TensorHandle(exact.astype(other.data.dtype), other.dtype.scalar)
    return operation


def _launching(call: Callable) -> Callable:
    """Replaces GridExecutor.__call__, which drops the options of the compiler."""
    def launch(self, *args, **named):
        global _fuses
        before, _fuses = _fuses, named.get("enable_fp_fusion", knobs.language.default_fp_fusion)
        try:
            return call(self, *args, **named)
        finally:
            _fuses = before
    return launch


CORRECTIONS = (
    (_BUILDER, "create_fmul", _multiply), (_BUILDER, "create_fadd", _fusing(np.add, 1.0)),
    (_BUILDER, "create_fsub", _fusing(np.subtract, -1.0)),
    (interpreter.GridExecutor, "__call__", _launching(interpreter.GridExecutor.__call__)),
)
