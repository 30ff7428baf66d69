"""CUDA kernels in this process, on torch's current stream, through the C ABI of cuda/abi.h. No tensor is
copied."""

from __future__ import annotations

import ctypes
import functools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_uint32, c_void_p
from pathlib import Path
from typing import Any

import torch

from triad.command import binary
from triad.errors import TriadError, Unavailable, UsageError, refusal
from triad.torch.worker import number

ABI = 1
RANK = 6
UNSUPPORTED = -1
WHY_BYTES = 512
_NUMBERS = {torch.float64: 0, torch.float32: 1, torch.float16: 2, torch.bfloat16: 3, torch.float8_e4m3fn: 4,
            torch.float8_e5m2: 5, torch.int64: 6,
            torch.int32: 7, torch.int8: 8, torch.uint8: 9, torch.bool: 10,
            torch.uint32: 11, torch.float4_e2m1fn_x2: 12}
_BITS = {"fp64": 0, "fp32": 1, "fp16": 2, "bf16": 3, "e4m3": 4, "e5m2": 5}


# torch's own names for what torch.cuda.current_device and current_stream find by several calls; a torch
# without CUDA lacks them.
_current_gpu, _current_stream = (getattr(torch._C, name, None)
                                 for name in ("_cuda_getDevice", "_cuda_getCurrentRawStream"))
# How what torch.compile generates makes its tensors: without the dispatcher, in a third of the time of
# torch.empty.
_empty_strided = {name: getattr(getattr(getattr(torch._C, "_dynamo", None), "guards", None),
                                f"_empty_strided_{name}", None) for name in ("cpu", "cuda")}
ALIGNED = 64
"""Bytes. A kernel that took a call takes it again with other tensors of the same strides that begin at
multiples of these, as fresh ones do."""
_ACCEPTS, _BYTES, _LAUNCH = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_int32), ctypes.CFUNCTYPE(c_int64,
    c_void_p), ctypes.CFUNCTYPE(c_int, c_void_p)


def _entry(kind: Any, function: int | None) -> Any:
    """A function of a kernel that takes the address of a call as a number, which ctypes passes on faster than
    a reference; None where it has none."""
    return kind(function) if function else None


class Tensor(ctypes.Structure):
    """triad_tensor."""

    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("rank", c_int32), ("shape", c_int64 * RANK),
                ("stride", c_int64 * RANK)]


class Call(ctypes.Structure):
    """triad_call."""

    _fields_ = [("size", c_uint32), ("n_in", c_int32), ("n_out", c_int32), ("n_attr", c_int32),
                ("inputs", POINTER(Tensor)), ("outputs", POINTER(Tensor)),
                ("attr", POINTER(c_double)), ("workspace", c_void_p), ("workspace_bytes", c_int64),
                ("stream", c_void_p)]


class Kernel(ctypes.Structure):
    """triad_kernel."""

    _fields_ = [("size", c_uint32), ("op", c_char_p), ("variant", c_char_p), ("direction", c_char_p),
                ("contract", c_char_p), ("forward", c_char_p),
                ("constraint", c_char_p), ("dtypes", c_uint32), ("outputs", c_uint32),
                ("nondeterministic", c_uint32),
                ("accepts", c_void_p), ("workspace", c_void_p), ("launch", c_void_p), ("devices", c_int32)]


def _describe(into: Tensor, dtype: torch.dtype, shape: Sequence[int]) -> None:
    rank = len(shape)
    if rank > RANK:
        raise UsageError(f"a tensor of {rank} dims: a kernel takes at most {RANK}")
    into.dtype, into.rank = _NUMBERS[dtype], rank
    into.shape[:rank] = tuple(shape)


def _as_rows(tensor: torch.Tensor) -> tuple[int, int] | None:
    """The strides of a tensor whose dims but the last are one; None where they do not lie so."""
    sizes, strides, count, step = tensor.shape, tensor.stride(), 1, 0
    for size, stride in zip(sizes[-2::-1], strides[-2::-1]):
        if size != 1 and tensor.numel():
            step = stride if count == 1 else step
            if stride != step * count:
                return None
        count *= size
    return step if count > 1 else sizes[-1], strides[-1]


class CudaRow:
    """One variant of an operator's library."""

    compiled = False
    recomputes = False
    fresh = True  # its outputs are never its inputs
    # by its launch whether it takes a call, and given contiguous tensors where it takes those alone
    asked = True

    def __init__(self, name: str, kernels: Sequence[Any], names: Mapping[str, Sequence[str]],
                 attributes: Sequence[Mapping[str, Any]]):
        forward = next((k.contents.forward for k in kernels if k.contents.forward), None)
        self.follows = f"cuda/{forward.decode()}" if forward else name
        self.name, self._kernels, self._names, self._attributes = name, kernels, names, attributes
        self._found: dict[tuple[str, str], Any] = {}

    def _kernel(self, direction: str, dtype: str) -> Any:
        if (direction, dtype) in self._found:
            return self._found[direction, dtype]
        bit = 1 << _BITS.get(dtype.split("_")[0], 31)
        found = (k.contents for k in self._kernels
                 if k.contents.direction.decode() == direction and k.contents.dtypes & bit)
        self._found[direction, dtype] = next(found, None)
        return self._found[direction, dtype]

    def outputs(self, direction: str, dtype: str) -> tuple[str, ...]:
        """The names that a pass gives for a dtype."""
        kernel = self._kernel(direction, dtype)
        return (tuple(n for i, n in enumerate(self._names.get(direction, ())) if kernel.outputs >> i & 1)
                if kernel is not None else ())

    def contract(self, direction: str, dtype: str) -> str:
        """The contract it declares."""
        kernel = self._kernel(direction, dtype)
        return kernel.contract.decode() if kernel is not None else ""

    def declines(self, direction: str, tensors: Sequence[torch.Tensor], attributes: Mapping[str, Any]) -> str:
        """Asked at the call, which has the outputs too."""
        return ""

    def run(self, direction: str, dtype: str, tensors: Sequence[torch.Tensor], attributes: Mapping[str, Any],
            results: Sequence[tuple]) -> list[torch.Tensor | None]:
        """Launches it; the outputs in the order of results, None for one that it does not give."""
        return self.prepared(direction, dtype, attributes, results)(tensors)

    def numbers(self, attributes: Mapping[str, Any]) -> tuple[float, ...]:
        """The attributes as the C ABI carries them."""
        return tuple(number(a, attributes[a["name"]])["number"] for a in self._attributes)

    def prepared(self, direction: str, dtype: str, attributes: Mapping[str, Any], results: Sequence[tuple],
                 **rows: Any) -> Launch:
        """A function of the tensors that launches it. rows: leading, the dims that are one dim for the
        kernel, and which inputs and outputs have them."""
        kernel = self._kernel(direction, dtype)
        if kernel is None:
            raise UsageError(f"{self.name} has no {direction} in {dtype}")
        return Launch(f"{kernel.op.decode()}/{self.name}", direction, kernel, self.numbers(attributes),
                      results, **rows)


class Launch:
    """Calls of one kernel with tensors of the same dtypes, sizes and device: what stays the same is written
    into the structures of the ABI once."""

    def __init__(self, name: str, direction: str, kernel: Any, numbers: Sequence[float],
                 results: Sequence[tuple], leading: tuple[int, ...] | None = None,
                 rows_in: Sequence[bool] = (), rows_out: Sequence[bool] = ()):
        self._name, self._direction, self._rows = name, direction, rows_in if leading is not None else ()
        self.address = ctypes.addressof(kernel)
        self.given = [bool(kernel.outputs >> i & 1) for i in range(len(results))]
        of_rows = [leading is not None and r for r in rows_out] or [False] * len(results)
        # Of each output sizes and dtype as the caller sees it, and the sizes as the kernel does.
        self._results = [((*leading, shape[-1]) if r else tuple(shape), t, tuple(shape)) for (_, shape, t),
                         r in zip(results, of_rows)]
        self._accepts, self._workspace, self._launch = (_entry(kind, f) for kind,
                                                        f in ((_ACCEPTS, kernel.accepts),
                                                              (_BYTES, kernel.workspace),
                                                              (_LAUNCH, kernel.launch)))
        self._numbers = (c_double * max(1, len(numbers)))(*numbers)
        self._attributes = len(numbers)
        self._makers: list[Callable[[], torch.Tensor] | None] | None = None
        self._gpu: int | None = None
        self._other = False  # GPUs are here, so another one may be current
        # structures that no call uses: taking one is one step of the interpreter, so threads share them
        self._spare: list[tuple] = []

    def _first(self, device: torch.device) -> list[Callable[[], torch.Tensor] | None]:
        """What makes the outputs."""
        self._gpu = device.index if device.type == "cuda" else None
        self._other = self._gpu is not None and torch.cuda.device_count() > 1
        made = _empty_strided.get(device.type)
        self._makers = [None if not given else functools.partial(torch.empty, shape, dtype=t, device=device)
                        if made is None else
                        functools.partial(made, shape, torch.empty(shape, device="meta").stride(), t)
                        for (shape, t, _), given in zip(self._results, self.given)]
        return self._makers

    def _structures(self, tensors: Sequence[torch.Tensor]) -> tuple:
        """The structures of a call; strides of inputs and all pointers are still to be written. why is handed
        over as its address."""
        ins, outs = (Tensor * len(tensors))(), (Tensor * len(self._results))()
        for i, tensor in enumerate(tensors):
            rows = self._rows and self._rows[i]
            _describe(ins[i], tensor.dtype, (math.prod(tensor.shape[:-1]), tensor.shape[-1]) if rows
                      else tensor.shape)
        for into, (_, dtype, shape), given in zip(outs, self._results, self.given):
            if given:
                _describe(into, dtype, shape)
                into.stride[:len(shape)] = torch.empty(shape, device="meta").stride()
        call = Call(ctypes.sizeof(Call), len(tensors), len(outs), self._attributes, ins, outs, self._numbers,
                    None, 0, None)
        why = ctypes.create_string_buffer(WHY_BYTES)
        return (call, ctypes.addressof(call), list(ins), list(outs), [None]
                * len(tensors), ctypes.addressof(why), (why, ins, outs))

    def _lay(self, tensors: Sequence[torch.Tensor], ins: Sequence[Tensor],
             strides: list) -> list[torch.Tensor] | None:
        """Writes the strides of the inputs. Where leading dims of one do not lie as rows, it gives tensors of
        which they do."""
        apart = []
        for i, tensor in enumerate(tensors):
            stride: tuple[int, ...] | None = tensor.stride()
            strides[i] = stride
            if self._rows and self._rows[i]:
                stride = _as_rows(tensor)
            if stride is None:
                apart.append(i)
            else:
                ins[i].stride[:len(stride)] = stride
        return [t.contiguous() if i in apart else t for i, t in enumerate(tensors)] if apart else None

    def __call__(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        """The outputs, launched on the current stream. A kernel that declines tensors which are not
        contiguous gets contiguous ones."""
        makers = self._makers or self._first(tensors[0].device)
        gpu = self._gpu
        if self._other and _current_gpu() != gpu:
            with torch.cuda.device(gpu):
                return self(tensors)
        try:
            structures = self._spare.pop()
        except IndexError:
            structures = self._structures(tensors)
        call, address, ins, outs, strides, why, kept = structures
        low, as_before = 0, True
        for tensor, into, stride in zip(tensors, ins, strides):
            into.data = at = tensor.data_ptr()
            low |= at
            if tensor.stride() != stride:
                as_before = False
        if not as_before and (laid := self._lay(tensors, ins, strides)) is not None:
            return self(laid)
        out = []
        for make, into in zip(makers, outs):
            made = None
            if make is not None:
                made = make()
                into.data = made.data_ptr()
            out.append(made)
        if gpu is not None:
            call.stream = _current_stream(gpu)
        # What it took, it takes again: see ALIGNED.
        if self._accepts is not None and not (as_before and low % ALIGNED == 0) and self._accepts(address,
            why, WHY_BYTES):
            return self._packed(tensors, kept[0].value.decode(errors="replace"))
        if self._workspace is not None:
            count = max(0, self._workspace(address))
            # given back in the order of the stream, so after the kernel
            workspace = torch.empty(count, dtype=torch.uint8, device=tensors[0].device)
            call.workspace, call.workspace_bytes = workspace.data_ptr(), count
        code = self._launch(address)
        self._spare.append(structures)
        if code:
            raise refusal(self._name, "the call is not supported",
                          self._direction) if code == UNSUPPORTED else TriadError(
                              f"{self._name}: the launch ended with CUDA error {code}")
        return out

    def _packed(self, tensors: Sequence[torch.Tensor], why: str) -> list[torch.Tensor | None]:
        packed = [t.contiguous() for t in tensors]
        if all(a is b for a, b in zip(packed, tensors)):
            raise refusal(self._name, why, self._direction)
        return self(packed)


@functools.cache
def rows(op: str, attributes: str, names: str) -> dict[str, CudaRow]:
    """The variants in the library that this package brings along; attributes and names are the JSON of the
    spec's attributes and outputs."""
    return variants(binary().parent / "kernels" / f"{op}.so", json.loads(attributes), json.loads(names))


def variants(path: Path, attributes: Sequence[Mapping[str, Any]],
             names: Mapping[str, Sequence[str]]) -> dict[str, CudaRow]:
    """The variants in a library."""
    try:
        library = ctypes.CDLL(str(path))
    except OSError as e:
        raise Unavailable(f"open {path}: {e}: this package was made without the kernels for GPUs; make wheel "
                          "on a machine with nvcc brings them along") from None
    listed, count = POINTER(POINTER(Kernel))(), c_int32()
    if library.triad_kernels(c_int32(ABI), ctypes.byref(listed), ctypes.byref(count)):
        raise Unavailable(f"{path}: it speaks another ABI than {ABI}: install the package again")
    by_name: dict[str, list[Any]] = {}
    for kernel in listed[:count.value]:
        told = kernel.contents.size >= Kernel.devices.offset + Kernel.devices.size
        if told and kernel.contents.devices > 1:
            continue  # its tensors lie on two GPUs, as torch's do not
        by_name.setdefault(f"cuda/{kernel.contents.variant.decode()}", []).append(kernel)
    return {name: CudaRow(name, kernels, names, attributes) for name, kernels in by_name.items()}
