"""Exact conversions between fp64 and the bytes of a dtype, on NumPy arrays and without copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from triad.errors import Unavailable, UsageError
from triad.go import call

if TYPE_CHECKING:
    import numpy as np

STORAGE = {"fp64": "f8", "fp32": "f4", "fp16": "u2", "bf16": "u2", "e4m3": "u1", "e5m2": "u1", "int64": "i8",
           "int32": "i4", "int8": "i1", "uint8": "u1",
           "bool": "u1", "uint32": "u4", "e2m1x2": "u1"}
"""The NumPy dtype that holds the codes of each dtype."""


def numpy() -> Any:
    """NumPy, or the sentence that says that it is missing."""
    try:
        import numpy as np
    except ImportError as e:
        raise Unavailable(f"arrays need NumPy ({e}): pip install numpy") from None
    return np


def encode(values: Any, dtype: str) -> np.ndarray:
    """Rounds fp64 numbers once, to nearest even, and gives their codes: fp16 and bf16 as uint16, e4m3 and
    e5m2 as uint8, others as themselves (e2m1x2 is the byte of two fp4 numbers). Beyond the largest number
    that is infinity, NaN for e4m3, the nearest bound for an integer. The shape stays."""
    np = numpy()
    source = np.ascontiguousarray(values, dtype="<f8")
    codes = np.empty(source.shape, dtype="<" + _storage(dtype))
    call("Encode", dtype, source.ctypes.data, codes.ctypes.data, source.size)
    return codes


def decode(codes: Any, dtype: str) -> np.ndarray:
    """The values of codes in fp64, each exact (int64 beyond 2^53 apart). codes is an array whose elements
    have the size of the dtype's, or bytes. The shape stays."""
    np = numpy()
    wanted = np.dtype("<" + _storage(dtype))
    source = (np.frombuffer(codes, dtype=wanted) if isinstance(codes, (bytes, bytearray, memoryview))
              else np.asarray(codes))
    if source.dtype.itemsize != wanted.itemsize or source.dtype.hasobject:
        raise UsageError(f"decode {dtype}: elements of {source.dtype}: want {wanted.itemsize} bytes each, "
                         f"such as {wanted}")
    source = np.ascontiguousarray(source)
    values = np.empty(source.shape, dtype="<f8")
    call("Decode", dtype, source.ctypes.data, values.ctypes.data, source.size)
    return values


def _storage(dtype: str) -> str:
    if dtype not in STORAGE:
        raise UsageError(f"dtype {dtype!r}: want one of {', '.join(STORAGE)}")
    return STORAGE[dtype]
