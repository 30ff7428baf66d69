"""Which operations of torch a call reaches, and which kernels: what is known of an operation excuses a user's
function that called it, and a list of both shows where a library does the work."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class RecordedCalls(TorchDispatchMode):
    """While it is entered, keeps the names of the operations that reach torch's kernels, those of autograd
    among them: "aten.gelu_backward". torch.compile leaves what it would compile to be run plainly. Kernels
    that ran on a GPU are "kernel NAME", and those of Triton's interpreter "triton NAME", whose own operations
    are none of the function's."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.interpreting = 0
        self.undo = contextlib.ExitStack()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if not self.interpreting:
            self.names.add(str(func.overloadpacket))
        return func(*args, **(kwargs or {}))

    def __enter__(self) -> RecordedCalls:
        self._watch_interpreter()
        self.profiler = _profiler()
        return super().__enter__()

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        self.undo.close()
        if self.profiler is not None:
            self.names.update("kernel " + name for name in _kernels(self.profiler))

    def _watch_interpreter(self) -> None:
        interpreter = sys.modules.get("triton.runtime.interpreter")
        if interpreter is None:
            return
        launch = interpreter.GridExecutor.__call__

        def watched(executor: Any, *args: Any, **kwargs: Any) -> Any:
            self.names.add("triton " + executor.fn.__name__)
            self.interpreting += 1
            try:
                return launch(executor, *args, **kwargs)
            finally:
                self.interpreting -= 1

        interpreter.GridExecutor.__call__ = watched
        self.undo.callback(setattr, interpreter.GridExecutor, "__call__", launch)


def _profiler() -> Any:
    """A running profiler of the GPU; None where there is none, or another one runs."""
    on_gpu = os.environ.get("TRIAD_DEVICE") == "gpu" and torch.cuda.is_initialized()
    if not on_gpu or "TRIAD_PROFILED" in os.environ:
        return None
    try:
        profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
        profiler.start()
    except RuntimeError:
        return None
    return profiler


def _kernels(profiler: Any) -> set[str]:
    try:
        torch.cuda.synchronize()
        profiler.stop()
    except RuntimeError:
        return set()
    on_gpu = torch.autograd.DeviceType.CUDA
    return {e.name for e in profiler.events() if e.device_type == on_gpu and not e.name.startswith("Mem")}
