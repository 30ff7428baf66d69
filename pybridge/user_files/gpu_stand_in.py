"""What "cuda" means to a file of the user's own where no GPU is: the CPU, on which Triton's interpreter runs.

Within `meant()` a tensor says that it is on the GPU, `device="cuda"` and `.cuda()` give one, and after
`stand_in()` `torch.cuda` and Triton's driver describe a small GPU, whose streams are stream_stand_in.py's.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

import stream_stand_in

MULTIPROCESSORS = 4
"""As few as may be: a kernel that starts a program on each is interpreted program by program."""

PROPERTIES = {
    "name": "no GPU", "major": 8, "minor": 0, "total_memory": 1 << 34,
    "multi_processor_count": MULTIPROCESSORS,
    "max_threads_per_multi_processor": 2048, "warp_size": 32, "regs_per_multiprocessor": 65536,
    "shared_memory_per_block": 49152, "shared_memory_per_block_optin": 166912,
    "shared_memory_per_multiprocessor": 167936, "L2_cache_size": 1 << 22,
}
DRIVER_PROPERTIES = {
    "max_shared_mem": 166912, "max_num_regs": 65536, "multiprocessor_count": MULTIPROCESSORS, "warpSize": 32,
    "sm_clock_rate": 1, "mem_clock_rate": 1, "mem_bus_width": 1,
}

_standing = False
_TENSOR = torch.Tensor


class _Meant(TorchFunctionMode):
    """Sends what is meant for the GPU to the CPU."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        said = _SAID.get(function)
        if said is not None:
            return said(*args, **(kwargs or {}))
        if not kwargs and _NAMES.isdisjoint(map(type, args)):  # most calls: none of them names a device
            return function(*args)
        if function is torch.device:  # a file may compare it with the device of a tensor
            return function(*args, **(kwargs or {}))
        kwargs = {k: _here(v, k) for k, v in (kwargs or {}).items() if k != "pin_memory"}
        return function(*(_here(a) for a in args), **kwargs)


_NAMES = frozenset({str, torch.device})
"""The types of what names a device by its position."""


def _here(value: Any, name: str = "") -> Any:
    """A device of an argument, or what else it is."""
    if isinstance(value, torch.device) and value.type == "cuda" or name == "device" and type(value) is int:
        return torch.device("cpu")
    if type(value) is str and (value == "cuda" or value.startswith("cuda:")):
        return "cpu"
    return value


def _itself(tensor: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
    return tensor


def _waiting(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose result the host waits for."""
    def waiting(*arguments: Any, **named: Any) -> Any:
        stream_stand_in.host_waits()
        return function(*arguments, **named)
    return waiting


def _device(tensor: torch.Tensor) -> torch.device:
    with torch._C.DisableTorchFunction():
        real = tensor.device
    return torch.device("cuda", 0) if real.type == "cpu" else real


# What a tensor says of itself or gives the host, by the functions that a mode is asked about.
_SAID: dict[Any, Callable[..., Any]] = {
    _TENSOR.is_cuda.__get__: lambda _: True,
    _TENSOR.is_cpu.__get__: lambda _: False,
    _TENSOR.device.__get__: _device,
    _TENSOR.get_device: lambda _: 0,
    _TENSOR.cuda: _itself,
    _TENSOR.pin_memory: _itself,
    _TENSOR.is_pinned: lambda *_, **__: True,
    **{function: _waiting(function) for function in (
        _TENSOR.item, _TENSOR.tolist, _TENSOR.cpu, _TENSOR.__bool__, _TENSOR.__float__, _TENSOR.__int__)},
}


@contextlib.contextmanager
def meant():
    """While it is entered, "cuda" means the CPU, where stand_in() was called. A mode of torch's would keep
    others apart: the file's own code alone runs within."""
    if not _standing:
        yield
        return
    compiles = torch.compile, torch.nn.Module.compile
    torch.compile, torch.nn.Module.compile = _eager, _answer(None)
    try:
        with _Meant():
            yield
    finally:
        torch.compile, torch.nn.Module.compile = compiles


class _Described(types.SimpleNamespace):
    """What a GPU and its driver say of themselves."""


def _answer(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def _eager(function: Any = None, **_: Any) -> Any:
    """What torch.compile gives: the function as it is, since what a compiler makes for a CPU says nothing of
    a GPU."""
    return function or (lambda decorated: decorated)


def stand_in() -> None:
    """Has torch.cuda and Triton's driver describe a GPU, for this process, which runs one file."""
    global _standing
    if _standing:
        return
    _standing = True
    properties = _Described(**PROPERTIES)
    for name, value in {
        "is_available": True, "is_initialized": True, "device_count": 1, "current_device": 0,
        "get_device_name": PROPERTIES["name"], "get_device_capability": (8, 0),
        "get_device_properties": properties,
        "empty_cache": None, "memory_allocated": 0, "max_memory_allocated": 0, "memory_reserved": 0,
        "reset_peak_memory_stats": None, "manual_seed": None, "manual_seed_all": None, "set_device": None,
        "init": None, "is_bf16_supported": True, "mem_get_info": (1 << 34, 1 << 34), "current_blas_handle": 0,
        "default_stream": stream_stand_in.DEFAULT, "set_stream": None,
    }.items():
        setattr(torch.cuda, name, _answer(value))
    for name, value in {
        "Event": stream_stand_in.Event, "Stream": stream_stand_in.Stream, "stream": stream_stand_in.entered,
        "current_stream": stream_stand_in.current, "synchronize": stream_stand_in.synchronized,
        "device": stream_stand_in.Device, "device_of": stream_stand_in.Device,
    }.items():
        setattr(torch.cuda, name, value)
    for name in ("range_push", "range_pop", "mark"):
        setattr(torch.cuda.nvtx, name, _answer(None))
    # torch.nn.GRU and LSTM ask it about weights that say they are on the GPU
    torch.backends.cudnn.is_acceptable = _answer(False)
    _stand_in_for_the_driver()


def _stand_in_for_the_driver() -> None:
    """Gives Triton a driver to ask about the GPU. What is to be timed is not run."""
    from implementation import triton
    if not hasattr(triton, "runtime"):
        return  # it is not here
    from triton.backends.compiler import GPUTarget

    driver = _Described(
        get_active_torch_device=_answer(torch.device("cuda", 0)), get_current_device=_answer(0),
        get_current_stream=_answer(0), get_current_target=_answer(GPUTarget("cuda", 80, 32)),
        get_device_capability=_answer((8, 0)), get_device_interface=_answer(torch.cuda),
        get_benchmarker=_answer(_not_timed), clear_cache=_answer(None), is_active=_answer(True),
        get_empty_cache_for_benchmark=_answer(None),
        utils=_Described(get_device_properties=_answer(dict(DRIVER_PROPERTIES))),
    )
    triton.runtime.driver.set_active(driver)
    import triton.testing
    for name in ("do_bench", "do_bench_cudagraph"):
        setattr(triton.testing, name, _not_timed)
    triton.testing.Mark.run = _answer(None)
    from triton.runtime import interpreter
    interpreter.InterpretedFunction.warmup = _warmup


class _Compiled:
    """What warmup() gives for a kernel that is interpreted: it has few registers and a little shared memory,
    which people divide by, and can be launched. What it was compiled for need not be said again."""

    n_regs, n_spills, n_max_threads, shared = 32, 0, 1024, 1024

    def __init__(self, kernel: Any, *arguments: Any, **named: Any):
        said = kernel.fn.__annotations__
        constants = {k: v for k, v in zip(kernel.arg_names, arguments, strict=False)
                     if "constexpr" in str(said.get(k))}
        self._kernel, self._named = kernel, {**constants, **named}
        self.metadata = types.SimpleNamespace(shared=self.shared, num_warps=4, num_ctas=1, num_stages=1)

    def _init_handles(self) -> None:
        pass

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        def launch(*arguments: Any, **named: Any) -> Any:
            left = self._kernel.arg_names[len(arguments):]
            kept = {k: v for k, v in self._named.items() if k in left}
            return self._kernel[grid](*arguments, **{**kept, **named})
        return launch


def _warmup(kernel: Any, *arguments: Any, **named: Any) -> _Compiled:
    return _Compiled(kernel, *arguments, **named)


def _not_timed(*_: Any, quantiles: Any = None, **__: Any) -> Any:
    """A time in milliseconds, or one for each quantile: nothing is timed."""
    return [1.0 for _ in quantiles] if quantiles else 1.0
