"""Corrections to Triton 3.6's interpreter, which runs kernels on a CPU with NumPy. They touch no compiled
kernel.

What is wrong there, and is put right by `correct()`:
* `tl.dot` multiplies bf16 operands as the uint16 that hold their bits, and decodes the NaN of e4m3 to 480;
* a conversion to bf16 truncates; a conversion to fp8 rounds halves up and loses the carry into the exponent;
both truncate subnormals. Here torch converts, to nearest even as the hardware does, and `tl.dot` decodes its
operands to fp32 (int8 to int32) before it multiplies.

int8 needs no correction. `tl.dot(a, b, acc)` with an int32 acc fails an assertion here and in Triton's
compiler; both take `tl.dot(a, b, acc, out_dtype=tl.int32)`.

* arithmetic on bf16 values themselves, sums of them and conversions between them and integers work on the
  bits: here every operation is one in fp32 that is rounded once, as on a GPU, and a sum is one of pairs;
* a sum of integers is wider than they are, and one of them alone is refused where it is beyond their
  range: here it wraps, as on a GPU;
* a float that is handed to a kernel stays Python's, so that it has no `.to` and takes the dtype of what it
  meets: here it is a scalar of fp32, as the compiler makes it; `.to` of any other number works as well;
* `x.exp()` and the like fail, because the interpreter replaces only `tl.exp`: here both work;
* libdevice has no functions: here it has those that NumPy and torch have;
* `tl.maximum`, `tl.minimum` and `tl.clamp` keep NaN: here they drop it, as on a GPU, unless `propagate_nan`
  is set, and so does a maximum with its index, in the order of the row;
* memory: interpreter_memory.py; autotune: interpreter_tuning.py; multiply-adds: interpreter_fused.py.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
from collections.abc import Callable

import numpy as np
import torch
import triton.language as tl
from triton import knobs
from triton.runtime import interpreter

import interpreter_caches
import interpreter_fast_paths
import interpreter_fused
import interpreter_memory
import interpreter_tuning

_TORCH = {
    tl.float16: torch.float16, tl.bfloat16: torch.bfloat16, tl.float32: torch.float32,
    tl.float64: torch.float64,
    tl.float8e4nv: torch.float8_e4m3fn, tl.float8e5: torch.float8_e5m2,
}
_NARROW = {dtype.name for dtype in _TORCH} - {"fp16", "fp32", "fp64"}
_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}

_convert_without_correction = interpreter._convert_float


def _as_torch(data: np.ndarray, dtype: tl.dtype) -> torch.Tensor:
    """Returns the bits in data as a torch tensor of the Triton dtype."""
    bits = np.ascontiguousarray(data).reshape(data.shape)
    return torch.from_numpy(bits.view(_SIGNED[bits.itemsize])).view(_TORCH[dtype])


def _convert_float(data, source, target, rounding_mode):
    """Replaces the interpreter's function of this name: bits of source in, bits of target out, rounded to
    nearest even."""
    if source not in _TORCH or target not in _TORCH:
        return _convert_without_correction(data, source, target, rounding_mode)
    if source.name == "bf16" and target.name == "fp32":
        return _widened(data).view(np.uint32)
    out = _as_torch(data, source).to(_TORCH[target])
    size = out.element_size()
    signed = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size]
    return out.view(signed).numpy().view(_UNSIGNED[size])


def _widened(bits: np.ndarray) -> np.ndarray:
    """Returns bf16 as fp32, which has the same exponents."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def _decoded(handle) -> np.ndarray:
    """Returns the values of a dot operand in a type that NumPy multiplies exactly."""
    dtype = handle.dtype.scalar
    if dtype.name == "bf16":
        return _widened(handle.data)
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


# ---- bf16 values


def _narrow(handle) -> bool:
    """Reports whether a handle holds bits of a type that NumPy lacks."""
    return handle.dtype.scalar.name in _NARROW


def _rounded(data: np.ndarray, dtype: tl.dtype):
    """Returns values as a handle of a type that NumPy lacks."""
    data = np.asarray(data, np.float32)
    return interpreter.TensorHandle(_convert_float(data, tl.float32, dtype, None), dtype)


def _computing(original: Callable) -> Callable:
    """Makes an operation of the builder, op(handles..., function), compute with values. A comparison gives
    bools."""
    @functools.wraps(original)
    def operation(self, *arguments):
        *handles, function = arguments
        narrow = next((h.dtype.scalar for h in reversed(handles) if _narrow(h)), None)
        if narrow is None or function is np.where:
            return original(self, *arguments)
        with np.errstate(all="ignore"):
            data = function(*(_decoded(h) for h in handles))
        return interpreter.TensorHandle(data, tl.int1) if data.dtype == bool else _rounded(data, narrow)
    return operation


def _fma(original: Callable) -> Callable:
    @functools.wraps(original)
    def create_fma(self, x, y, z):
        if not _narrow(z):
            return original(self, x, y, z)
        exact = _decoded(x).astype(np.float64) * _decoded(y) + _decoded(z)
        return _rounded(exact, z.dtype.scalar)
    return create_fma


def _cast(original: Callable) -> Callable:
    """Converts between bf16 and the types that the interpreter has no conversion for."""
    @functools.wraps(original)
    def cast_impl(self, source, target):
        wanted = target.scalar
        if _narrow(source):
            value = interpreter.TensorHandle(_decoded(source), tl.float32)
            return value if wanted == tl.float32 else cast_impl(self, value, target)
        if wanted in _TORCH and wanted not in (tl.float16, tl.float32, tl.float64):
            if source.dtype.scalar in _TORCH:
                data = _convert_float(source.data, source.dtype.scalar, wanted, None)
                return interpreter.TensorHandle(data, wanted)
            exact = torch.from_numpy(np.asarray(source.data).astype(np.int64))
            return _rounded(exact.to(_TORCH[wanted]).float().numpy(), wanted)
        return original(self, source, target)
    return cast_impl


def _sum(original: Callable) -> Callable:
    @functools.wraps(original)
    def sum(self, value):
        dtype, data = value.dtype, value.handle.data
        axis = self.axis
        if not _narrow(value.handle) and data.dtype.kind in "iu":
            return self.to_tensor(np.sum(data, axis=axis, keepdims=self.keep_dims, dtype=data.dtype), dtype)
        if not _narrow(value.handle):
            return original(self, value)
        if axis is None:
            data, axis = data.reshape(-1), 0
        handle = interpreter.TensorHandle(np.moveaxis(data, axis, 0), dtype)
        while handle.data.shape[0] > 1:
            half = handle.data.shape[0] // 2
            values = _decoded(handle)
            odd = handle.data[2 * half:]
            pairs = _rounded(values[:half] + values[half:2 * half], dtype).data
            handle = interpreter.TensorHandle(np.concatenate([pairs, odd]), dtype)
        total = handle.data[0]
        if self.keep_dims:
            total = (total.reshape((1,) * value.handle.data.ndim) if self.axis is None
                     else np.expand_dims(total, self.axis))
        return self.to_tensor(total, dtype)
    return sum


# ---- NaN


def _create_clampf(self, value, low, high, propagate_nans):
    """Clamps NaN to a bound, as a GPU's fmax and fmin do, unless the call propagates it."""
    largest, smallest = ((np.maximum, np.minimum) if propagate_nans == tl.PropagateNan.ALL
                         else (np.fmax, np.fmin))
    return self.ternary_op(value, low, high, lambda x, a, b: smallest(largest(x, a), b))


def _min_max(original: Callable) -> Callable:
    """Compares like Triton's combining function when values are reduced with their indices: of two values it
    keeps the later one if one is NaN."""
    @functools.wraps(original)
    def min_max(self, input, val_reduce_op, idx_reduce_op=None):
        value = input[0] if isinstance(input, tuple) else input
        data = value.handle.data
        if not (val_reduce_op and idx_reduce_op and data.dtype.kind == "f" and np.isnan(data).any()):
            return original(self, input, val_reduce_op, idx_reduce_op)
        comes_before = np.greater_equal if val_reduce_op is np.max else np.less_equal
        rows = data.reshape(-1) if self.axis is None else np.moveaxis(data, self.axis, 0)
        best, index = rows[0], np.zeros(rows.shape[1:], np.int32)
        for i in range(1, len(rows)):
            kept = comes_before(best, rows[i])
            best, index = np.where(kept, best, rows[i]), np.where(kept, index, np.int32(i))
        if self.keep_dims:
            best, index = (np.asarray(a).reshape((1,) * data.ndim) if self.axis is None
                           else np.expand_dims(a, self.axis) for a in (best, index))
        return self.to_tensor(best, value.dtype), self.to_tensor(index, tl.int32)
    return min_max


# ---- numbers of Python


def _implicit(original: Callable) -> Callable:
    @functools.wraps(original)
    def implicit(argument):
        for kind, numbers, dtype in ((float, np.float32, tl.float32), (bool, np.bool_, tl.int1)):
            if type(argument) is kind:
                return tl.tensor(interpreter.TensorHandle(np.array([argument], numbers), dtype), dtype)
        return interpreter_memory.argument(argument, original(argument))
    return implicit


def _number(value):
    """Returns a number of Python as a scalar of Triton, any other argument unchanged."""
    scalar = isinstance(value, (int, float))
    return interpreter.interpreter_semantic.to_tensor(value, False) if scalar else value


class _Numbers(interpreter.ASTTransformer):
    """Lets numbers of Python have .to()."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        return super().visit_Assign(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            node.func.value = ast.Call(func=ast.Name(id="interpreter_number", ctx=ast.Load()),
                                       args=[node.func.value], keywords=[])
        return node


# ---- libdevice


def _round(x: np.ndarray) -> np.ndarray:
    """Rounds to the nearest integer, ties away from zero, as CUDA's round."""
    whole = np.trunc(x)
    return whole + np.where(np.abs(x - whole) >= 0.5, np.copysign(x.dtype.type(1), x), x.dtype.type(0))


def _by_torch(function: Callable) -> Callable:
    """Returns a function of arrays that calls one of torch."""
    return lambda x: function(torch.from_numpy(np.ascontiguousarray(x))).numpy()


def _integers(x: np.ndarray, to: type) -> np.ndarray:
    """Rounds to the nearest integers, ties to even. Values beyond the type become its limits, NaN becomes
    0."""
    ends = np.iinfo(to)
    near = np.rint(x)
    inside = np.where((near >= float(ends.min)) & (near < -float(ends.min)), near, 0).astype(to)
    above, below = near >= -float(ends.min), near < float(ends.min)
    return np.where(above, to(ends.max), np.where(below, to(ends.min), inside))


_ELEMENTWISE = {
    **{name: getattr(np, name) for name in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "sinh",
        "cosh", "tanh", "floor", "ceil", "trunc", "rint", "fmod", "hypot", "copysign", "isnan", "isinf")},
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "pow": np.power, "abs": np.abs, "fabs": np.abs, "fmin": np.fmin,
    "fmax": np.fmax, "rsqrt": lambda x: 1 / np.sqrt(x), "fast_expf": np.exp, "fast_tanhf": np.tanh,
    "fast_dividef": np.divide, "fast_logf": np.log, "fast_powf": np.power, "div_rn": np.divide,
    "erf": _by_torch(torch.erf), "erfc": _by_torch(torch.erfc), "erfinv": _by_torch(torch.erfinv),
    "lgamma": _by_torch(torch.lgamma), "round": _round, "nearbyint": np.rint, "add_rn": np.add,
    "sub_rn": np.subtract, "mul_rn": np.multiply, "sqrt_rn": np.sqrt, "rcp_rn": np.reciprocal,
    "exp10": lambda x: np.power(x.dtype.type(10), x), "fast_sinf": np.sin, "fast_cosf": np.cos,
    **{name: functools.partial(_integers, to=to) for name, to in (
        ("llrint", np.int64), ("float2int_rn", np.int32), ("float2ll_rn", np.int64))},
    "fast_log2f": np.log2, "fast_log10f": np.log10, "saturatef": lambda x: np.fmin(np.fmax(x, 0), 1),
}


def _elementwise(function: Callable) -> Callable:
    def call(*arguments, _semantic=None):
        semantic = interpreter.interpreter_semantic
        tensors = [semantic.to_tensor(a) for a in arguments]
        if any(t.dtype not in (tl.float32, tl.float64) for t in tensors):
            raise ValueError("libdevice takes fp32 and fp64, not " + ", ".join(str(t.dtype) for t in tensors))
        with np.errstate(all="ignore"):
            data = function(*(t.handle.data for t in tensors))
        dtype = {"b": tl.int1, "i": tl.int64 if data.itemsize == 8 else tl.int32}.get(data.dtype.kind,
                                                                                      tensors[0].dtype)
        shape = list(data.shape) if any(t.type.is_block() for t in tensors) else []
        handle = interpreter.TensorHandle(data.astype(interpreter._get_np_dtype(dtype), copy=False), dtype)
        return tl.tensor(handle, tl.block_type(dtype, shape) if shape else dtype)
    return call


def _give_libdevice() -> None:
    from triton.language.extra import libdevice
    from triton.language.extra.cuda import libdevice as of_cuda
    for name, function in _ELEMENTWISE.items():
        for module in (libdevice, of_cuda):
            if hasattr(module, name):
                setattr(module, name, _elementwise(function))


# ---- functions as members


def _member(function: Callable) -> Callable:
    @functools.wraps(function)
    def member(*arguments, **named):
        if named.get("_semantic") is None:
            named["_semantic"] = interpreter.interpreter_semantic
        return function(*arguments, **named)
    return member


def _give_members() -> None:
    """Makes x.exp() work like tl.exp(x), to which alone the interpreter passes its own semantic."""
    for name, function in vars(tl.math).items():
        given = vars(tl.tensor).get(name)
        if tl.core.is_builtin(function) and inspect.isfunction(given) and not tl.core.is_builtin(given):
            setattr(tl.tensor, name, _member(given))


# ---- all of them


_BUILDER = interpreter.InterpreterBuilder


def _launches(init: Callable) -> Callable:
    """Launches like Triton itself: a grid may be a list."""
    def made(self, fn, arg_names, grid, *rest, **named) -> None:
        init(self, fn, arg_names, grid, *rest, **named)
        self.grid = (lambda args: tuple(grid(args))) if callable(grid) else tuple(grid)
    return made


_CORRECTIONS = (
    (interpreter, "_convert_float", _convert_float), (_BUILDER, "create_dot", _create_dot),
    *((_BUILDER, name, _computing(vars(_BUILDER)[name])) for name in ("unary_op", "binary_op", "ternary_op")),
    (_BUILDER, "create_fma", _fma(_BUILDER.create_fma)), (_BUILDER, "cast_impl", _cast(_BUILDER.cast_impl)),
    (_BUILDER, "create_maxnumf", lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmax)),
    (_BUILDER, "create_minnumf", lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmin)),
    (_BUILDER, "create_clampf", _create_clampf),
    (interpreter.ReduceOps, "min_max", _min_max(interpreter.ReduceOps.min_max)),
    (interpreter.ReduceOps, "sum", _sum(interpreter.ReduceOps.sum)),
    (interpreter.GridExecutor, "__init__", _launches(interpreter.GridExecutor.__init__)),
    (interpreter, "_implicit_cvt", _implicit(interpreter._implicit_cvt)),
    (interpreter.FunctionRewriter, "ast_transformer", _Numbers()), *interpreter_caches.CORRECTIONS,
    *interpreter_fast_paths.CORRECTIONS, *interpreter_memory.CORRECTIONS, *interpreter_tuning.CORRECTIONS,
    *interpreter_fused.CORRECTIONS,
)
_ORIGINALS = [(owner, name, vars(owner)[name]) for owner, name, _ in _CORRECTIONS]


def correct() -> None:
    """Applies the corrections once for the whole process. A file that sets TRITON_INTERPRET when it is
    imported is interpreted all the same."""
    knobs.runtime.interpret = True
    if all(vars(owner)[name] is corrected for owner, name, corrected in _CORRECTIONS):
        return
    for owner, name, corrected in _CORRECTIONS:
        setattr(owner, name, corrected)
    _BUILDER.get_bf16 = lambda self, value: _rounded(np.array([value]), tl.bfloat16)
    interpreter.interpreter_number = _number
    _give_libdevice()
    _give_members()


def without_correction() -> None:
    """Removes the corrections: tests show that they are needed."""
    for owner, name, original in _ORIGINALS:
        setattr(owner, name, original)
    interpreter.InterpretedFunction.rewritten_fn.clear()  # they were rewritten with the corrections
    prove.cache_clear()


def dot(a: torch.Tensor, b: torch.Tensor, accumulator: torch.dtype) -> torch.Tensor:
    """Returns a b through the interpreter's `tl.dot`; accumulator is float32 or int32."""
    from probe_kernels import dot_kernel
    out = torch.empty((a.shape[0], b.shape[1]), dtype=accumulator)
    dot_kernel[(1,)](a, b, out, M=a.shape[0], N=b.shape[1], K=a.shape[1], ACCUMULATOR=tl.int32
                     if accumulator == torch.int32 else tl.float32)
    return out


def call_once() -> None:
    """Calls a kernel, so that the imports of a first call are done. It starts no thread, so the process may
    fork."""
    with contextlib.suppress(Exception):  # in a worker, prove reports what is wrong
        dot(torch.ones((16, 16)), torch.ones((16, 16)), torch.float32)


@functools.cache
def prove() -> str:
    """Multiplies two bf16 matrices through the interpreter and returns what is wrong, or "". If something is,
    the worker refuses Triton rows. A forked worker has the answer of its parent."""
    a = torch.tensor([[1.0, -2.0], [0.5, 3.0]]).repeat(8, 8).to(torch.bfloat16)
    try:
        right = torch.equal(dot(a, a.T.contiguous(), torch.float32), a.float() @ a.float().T)
    except Exception as e:
        return f"tl.dot of bf16 does not run in the interpreter of this Triton: {type(e).__name__}: {e}"
    return "" if right else "tl.dot of bf16 is wrong in the interpreter of this Triton"
