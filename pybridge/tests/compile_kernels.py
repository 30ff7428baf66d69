"""Compiles every Triton kernel of the operator files for a GPU, without one: the tiles and types of real calls, down to machine code.

    python compile_kernels.py sm_90 [OP...]

Prints one JSON line a compiled kernel: op, kernel, dtype, shared_bytes, seconds. Calls that the rows decline on such a GPU are left out. Runs in a process of its own, without the interpreter.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time

os.environ.pop("TRITON_INTERPRET", None)

from client import OPERATORS  # noqa: E402

import implementation  # noqa: E402

import torch  # noqa: E402
import triton  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402

TYPES = {torch.float32: "*fp32", torch.float16: "*fp16", torch.bfloat16: "*bf16", torch.float8_e4m3fn: "*fp8e4nv", torch.float8_e5m2: "*fp8e5"}


class Recorder:
    """Stands for a kernel: kernel[grid](...) records the call."""

    def __init__(self, kernel, calls: list):
        self.kernel, self.calls = kernel, calls

    def __getitem__(self, grid):
        return lambda *args, **options: self.calls.append((self.kernel, args, options))


def load(op: str, calls: list):
    """The operator file with a recorder in the place of every kernel."""
    spec = importlib.util.spec_from_file_location(op, OPERATORS / f"{op}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, value in list(vars(module).items()):
        if isinstance(value, triton.runtime.JITFunction) and name.endswith("_kernel"):
            setattr(module, name, Recorder(value, calls))
    return module


def compile_call(kernel, args: tuple, options: dict, target: GPUTarget):
    """Compiles a recorded call. An integer 1 is a constant there, as Triton makes it one at a launch."""
    values = dict(zip(kernel.arg_names, args)) | {n: v for n, v in options.items() if n in kernel.arg_names}
    constants = {p.name for p in kernel.params if p.is_constexpr} | {n for n, v in values.items() if isinstance(v, int) and v == 1}
    signature = {}
    for name in kernel.arg_names:
        value = values[name]
        signature[name] = ("constexpr" if name in constants else TYPES[value.dtype] if isinstance(value, torch.Tensor) else "fp32" if isinstance(value, float)
                           else "i32" if abs(value) < 2**31 else "i64")
    source = ASTSource(kernel, signature=signature, constexprs={n: values[n] for n in constants})
    return triton.compile(source, target=target, options={n: v for n, v in options.items() if n not in kernel.arg_names})


def calls_of(op: str, dtype: torch.dtype) -> list:
    """The kernels that the Triton rows launch for sizes with full tiles."""
    calls: list = []
    module = load(op, calls)
    x, n = torch.zeros(512, 2048, dtype=dtype) if dtype.itemsize > 1 else None, torch.zeros(512)
    if op == "softmax":
        for wide in (x, torch.zeros(2, 131072, dtype=dtype)):
            module.forward_row(wide), module.backward_row(wide, wide)
        module.forward_online(x), module.backward_online(x, x)
    elif op == "layernorm":
        w = torch.zeros(2048, dtype=dtype)
        module.forward(x, w, w, eps=1e-5), module.backward(x, w, n, n, x, eps=1e-5)
    elif op == "swiglu":
        for g in (x, x.T):
            module.forward(g, x.view(g.shape)), module.backward(g, x.view(g.shape), g)
    elif op == "rope":
        q, table = torch.zeros(2, 64, 8, 128, dtype=dtype), torch.zeros(100, 64)
        module.forward(q, q, table, table, interleaved=False, offset=3), module.backward(table, table, q, q, interleaved=True, offset=3)
    elif op == "fp8_gemm":
        for scaling, scale, other in (("tensor", torch.zeros(1), torch.float8_e5m2), ("row", n, dtype), ("block", torch.zeros(512, 16), dtype)):
            a, b = torch.zeros(512, 2048).to(dtype), torch.zeros(512, 2048).to(other)
            if module._accepts_triton("forward", a, scale, b, scale, scaling=scaling, out="bf16"):
                continue
            module.forward_tiled(a, scale, b, scale, scaling=scaling, out="bf16"), module.forward_splitk(a, scale, b, scale, scaling=scaling, out="bf16")
    else:
        for head_dim, causal in ((128, True), (256, False)):
            q, k, lse = torch.zeros(1, 4, 512, head_dim, dtype=dtype), torch.zeros(1, 2, 512, head_dim, dtype=dtype), torch.zeros(1, 4, 512)
            if module._accepts_tiled("forward", q, k, k, causal=causal, scale=0.1):
                continue
            module.forward(q, k, k, causal=causal, scale=0.1), module.backward(q, k, k, q, lse, q, causal=causal, scale=0.1)
    return calls


DTYPES = {"fp8_gemm": (torch.float8_e4m3fn,), "flash_attention": (torch.bfloat16, torch.float32)}


def main() -> None:
    arch, ops = int(sys.argv[1].removeprefix("sm_")), sys.argv[2:] or sorted(p.stem for p in OPERATORS.glob("*.py"))
    implementation.capability = lambda device: divmod(arch, 10)
    for op in ops:
        for dtype in DTYPES.get(op, (torch.bfloat16,)):
            for kernel, args, options in calls_of(op, dtype):
                begin = time.perf_counter()
                done = compile_call(kernel, args, options, GPUTarget("cuda", arch, 32))
                assert done.asm["cubin"]
                print(json.dumps({"op": op, "kernel": kernel.__name__, "dtype": str(dtype), "shared_bytes": done.metadata.shared,
                                  "seconds": round(time.perf_counter() - begin, 2)}), flush=True)


if __name__ == "__main__":
    main()
