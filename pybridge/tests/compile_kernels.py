"""Compiles every Triton kernel of the operator files for a GPU, without one: the sizes of [[compile]] in
their specs, down to machine code.

    python compile_kernels.py sm_90 [OP...]

Prints one JSON line a compiled kernel: op, kernel, dtype, shared_bytes, seconds. For a call that a row
declines on such a GPU the line has op, row, pass, dtype, declined. A kernel is compiled for its first call;
in the long tier for every call that is another to the compiler. Runs in a process of its own, without the
interpreter.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import sys
import time

os.environ.pop("TRITON_INTERPRET", None)

import torch  # noqa: E402
import triton  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402
from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: E402

from client import OPERATORS  # noqa: E402  puts the bridge on sys.path: first

import implementation  # noqa: E402
import tiers  # noqa: E402
from specs import Sizes, backward_inputs, compiled_sizes, spec_of  # noqa: E402
from tensor_descriptions import described  # noqa: E402

FAMILIES = ("elementwise", "row_norm", "product_tiles", "expert_parallel", "fp8_scales", "fp8_tiles")
"""Modules of kernels that operator files share."""

TYPES = {
    torch.float32: "*fp32",
    torch.float16: "*fp16",
    torch.bfloat16: "*bf16",
    torch.float8_e4m3fn: "*fp8e4nv",
    torch.float8_e5m2: "*fp8e5",
    torch.int64: "*i64",
    torch.int32: "*i32",
    torch.int8: "*i8",
    torch.uint8: "*u8",
    torch.bool: "*i1",
    torch.uint32: "*u32",
}


class Recorder:
    """Stands for a kernel: kernel[grid](...) records the call."""

    def __init__(self, kernel, calls: list):
        self.kernel, self.calls = kernel, calls

    def __getitem__(self, grid):
        return lambda *args, **options: self.calls.append((self.kernel, args, options))


def load(op: str, calls: list):
    """The operator file with a recorder in the place of every kernel, of those too that are in a module of
    its family."""
    spec = importlib.util.spec_from_file_location(op, OPERATORS / f"{op}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    owners = {getattr(value, "__module__", None) for value in vars(module).values()}
    families = [sys.modules[family] for family in FAMILIES if family in owners]
    for holder in [module, *families]:
        for name, value in list(vars(holder).items()):
            kernel = value.kernel if isinstance(value, Recorder) else value  # of the operator before
            if isinstance(kernel, triton.runtime.JITFunction) and name.endswith("_kernel"):
                setattr(holder, name, Recorder(kernel, calls))
    return module


def source_of(kernel, args: tuple, options: dict) -> tuple[ASTSource, dict]:
    """What a recorded call compiles, and the options of the compiler. An integer 1 and None are constants,
    as Triton makes them at a launch."""
    values = dict(zip(kernel.arg_names, args)) | {n: v for n, v in options.items() if n in kernel.arg_names}
    constants = {p.name for p in kernel.params if p.is_constexpr} | {
        n for n, v in values.items() if v is None or isinstance(v, int) and v == 1
    }
    signature = {}
    for name in kernel.arg_names:
        value = values[name]
        signature[name] = (
            "constexpr"
            if name in constants
            else TYPES[value.dtype]
            if isinstance(value, torch.Tensor)
            else f"tensordesc<{TYPES[value.base.dtype].removeprefix('*')}{list(value.block_shape)}>"
            if isinstance(value, TensorDescriptor)
            else "fp32"
            if isinstance(value, float)
            else "i32"
            if abs(value) < 2**31
            else "i64"
        )
    source = ASTSource(kernel, signature=signature, constexprs={n: values[n] for n in constants})
    return source, {n: v for n, v in options.items() if n not in kernel.arg_names}


def tensor_of(size: Sizes, tensor: dict, layout: str) -> torch.Tensor:
    """A tensor of the spec without values that matter. A transposed layout exchanges the last two strides
    where the operator may meet that."""
    shape, dtype = size.shape_of(tensor), size.dtype_of(tensor)
    strided = tensor.get("differentiable") or tensor.get("strided")
    turned = layout == "transposed" and strided and len(shape) > 1
    lying = (*shape[:-2], shape[-1], shape[-2]) if turned else shape
    x = torch.zeros(math.prod(shape) * dtype.itemsize, dtype=torch.uint8).view(dtype).view(lying)
    return x.mT if turned else x


def calls_of(op: str, size: Sizes, layout: str) -> tuple[list, list]:
    """The kernels that the Triton rows launch for a size, and what the rows decline: (row, pass, why)."""
    calls: list = []
    declined: list = []
    for row in load(op, calls).IMPLEMENTATIONS:
        if not row.name.startswith("triton/"):
            continue
        for direction, specs in (("forward", spec_of(op)["inputs"]), ("backward", backward_inputs(op))):
            function = row.function(direction)
            if function is None or size.dtype not in row.dtypes_of(direction):
                continue
            tensors = [tensor_of(size, t, layout) for t in specs]
            why = row.accepts and row.accepts(direction, *described(tensors), **size.attributes)
            if why:
                declined.append((row.name, direction, why))
            else:
                function(*tensors, **size.attributes)
    return calls, declined


def main() -> None:
    arch, ops = (
        int(sys.argv[1].removeprefix("sm_")),
        sys.argv[2:] or sorted(p.stem for p in OPERATORS.glob("*.py")),
    )
    implementation.capability = lambda device: divmod(arch, 10)
    for op in ops:
        seen = set()
        for size, layout in compiled_sizes(op):
            calls, declined = calls_of(op, size, layout)
            for row, direction, why in declined:
                print(
                    json.dumps(
                        {"op": op, "row": row, "pass": direction, "dtype": size.dtype, "declined": why}
                    ),
                    flush=True,
                )
            for kernel, args, options in calls:
                source, options = source_of(kernel, args, options)
                key = (kernel.__name__,)
                if tiers.LONG:
                    key += (size.dtype, str(source.signature), str(source.constants), str(options))
                if key in seen:
                    continue
                seen.add(key)
                begin = time.perf_counter()
                done = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
                assert done.asm["cubin"]
                print(
                    json.dumps(
                        {
                            "op": op,
                            "kernel": kernel.__name__,
                            "dtype": size.dtype,
                            "shared_bytes": done.metadata.shared,
                            "seconds": round(time.perf_counter() - begin, 2),
                        }
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main()
