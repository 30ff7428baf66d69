"""Corrections to Triton 3.6's interpreter, which runs kernels on a CPU with NumPy. They touch no compiled
kernel.

What is wrong there, and is put right by `correct()`:
* `tl.dot` multiplies bf16 operands as the uint16 that hold their bits, and decodes the NaN of e4m3 to 480;
* a conversion to bf16 truncates; a conversion to fp8 rounds halves up and loses the carry into the exponent;
both truncate subnormals. Here torch converts, to nearest even as the hardware does, and `tl.dot` decodes its
operands to fp32 (int8 to int32) before it multiplies.

int8 was right before, and stays so: the assertion that `tl.dot(a, b, acc)` meets with an int32 acc is no
fault of the interpreter. Triton's compiler makes the same one for a GPU, and both take `tl.dot(a, b, acc,
out_dtype=tl.int32)`.

Arithmetic on bf16 values themselves is as wrong as `tl.dot` was: kernels convert to fp32 first, as they do on
a GPU.
"""

from __future__ import annotations

import numpy as np
import torch
import triton.language as tl
from triton.runtime import interpreter

_TORCH = {
    tl.float16: torch.float16, tl.bfloat16: torch.bfloat16, tl.float32: torch.float32,
    tl.float64: torch.float64,
    tl.float8e4nv: torch.float8_e4m3fn, tl.float8e5: torch.float8_e5m2,
}
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}

_convert_without_correction = interpreter._convert_float
_dot_without_correction = interpreter.InterpreterBuilder.create_dot


def _as_torch(data: np.ndarray, dtype: tl.dtype) -> torch.Tensor:
    """The bits in data as a torch tensor of the Triton dtype."""
    bits = np.ascontiguousarray(data).reshape(data.shape)
    return torch.from_numpy(bits.view(_SIGNED[bits.itemsize])).view(_TORCH[dtype])


def _convert_float(data, source, target, rounding_mode):
    """Replaces the interpreter's function of this name: bits of source in, bits of target out, rounded to
    nearest even."""
    if source not in _TORCH or target not in _TORCH:
        return _convert_without_correction(data, source, target, rounding_mode)
    out = _as_torch(data, source).to(_TORCH[target])
    size = out.element_size()
    return out.view({1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size]).numpy().view(_UNSIGNED[size])


def _decoded(handle) -> np.ndarray:
    """The values of a dot operand in a type that NumPy multiplies exactly."""
    dtype = handle.dtype.scalar
    if dtype in _TORCH and dtype not in (tl.float32, tl.float64):
        return _as_torch(handle.data, dtype).to(torch.float32).numpy()
    if dtype.is_int():
        return handle.data.astype(np.int32)
    return handle.data


def _create_dot(self, a, b, d, input_precision, max_num_imprecise_acc):
    """Replaces InterpreterBuilder.create_dot: d + a b, summed in d's type. input_precision is ignored, as
    before: products are exact."""
    product = np.matmul(_decoded(a), _decoded(b)).astype(d.data.dtype, copy=False)
    return interpreter.TensorHandle(product + d.data, d.dtype.scalar)


def correct() -> None:
    """Puts the corrections in place, for the whole process."""
    interpreter._convert_float = _convert_float
    interpreter.InterpreterBuilder.create_dot = _create_dot


def without_correction() -> None:
    """Takes the corrections back: the tests show that they are needed."""
    interpreter._convert_float = _convert_without_correction
    interpreter.InterpreterBuilder.create_dot = _dot_without_correction


def dot(a: torch.Tensor, b: torch.Tensor, accumulator: torch.dtype) -> torch.Tensor:
    """a b through the interpreter's `tl.dot`; accumulator is float32 or int32."""
    from probe_kernels import dot_kernel
    out = torch.empty((a.shape[0], b.shape[1]), dtype=accumulator)
    dot_kernel[(1,)](a, b, out, M=a.shape[0], N=b.shape[1], K=a.shape[1], ACCUMULATOR=tl.int32
                     if accumulator == torch.int32 else tl.float32)
    return out


def prove() -> str:
    """Multiplies two bf16 matrices through the interpreter and gives what is wrong, or "". The worker refuses
    Triton rows if it is not ""."""
    a = torch.tensor([[1.0, -2.0], [0.5, 3.0]]).repeat(8, 8).to(torch.bfloat16)
    try:
        right = torch.equal(dot(a, a.T.contiguous(), torch.float32), a.float() @ a.float().T)
    except Exception as e:
        return f"tl.dot of bf16 does not run in the interpreter of this Triton: {type(e).__name__}: {e}"
    return "" if right else "tl.dot of bf16 is wrong in the interpreter of this Triton"
