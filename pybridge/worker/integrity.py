"""Detects what a call changed in its process that later calls or its own report rely on: functions of torch
and of the worker, settings, the answers of earlier calls. It finds carelessness and simple tricks, and
restores what it can. A program that sets out to deceive its own process can deceive this module too, so no
verdict depends on it alone: the driver judges the bytes that come back."""

from __future__ import annotations

import ctypes
import operator
import os
import sys
import sysconfig
import time
import types
import zlib
from collections.abc import Mapping
from typing import Any

import torch

import tensors

HELD_BYTES = 16 << 20
"""The largest answers, in bytes, that are kept until the next call has returned. Larger ones would show in
the reported peak memory."""

_PERTURB = -6  # mallopt's M_PERTURB
_DENORMAL = 5e-324


def erase_freed_memory() -> None:
    """Makes glibc overwrite memory when it is freed and when it is allocated, so that unwritten memory never
    holds an earlier answer. Does nothing with another C library."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_PERTURB, 0x5A)


SETTINGS = {
    "torch's default dtype": (torch.get_default_dtype, torch.set_default_dtype),
    "torch's number of threads": (torch.get_num_threads, torch.set_num_threads),
    "torch's deterministic mode": (torch.are_deterministic_algorithms_enabled,
                                   torch.use_deterministic_algorithms),
    "the flushing of small numbers to zero": (lambda: _DENORMAL * 1.0 == 0.0, torch.set_flush_denormal),
}


CLOCKS = (time, torch.cuda.Event, torch.cuda.CUDAGraph)
"""The clocks, events and graphs with which calls are launched and timed."""


class Watch:
    """A record of functions and settings as they were when it was made. after() reports what a call changed,
    and restores it."""

    def __init__(self, *modules: types.ModuleType):
        self.pid = os.getpid()
        self.functions = [(owner, {n: f for n, f in vars(owner).items() if callable(f)})
                          for owner in (torch, torch.Tensor, torch.nn.functional, zlib, *CLOCKS,
                                        *modules)]
        self.settings = {name: get() for name, (get, _) in SETTINGS.items()}
        self.threads: set[int] = set()

    def before(self) -> None:
        """Records the threads that run before a call."""
        self.threads = set(sys._current_frames())

    def after(self, replaced: list[str]) -> str:
        """Returns what the call changed or left behind, in one clause; "" if nothing. replaced holds changes
        that were found elsewhere."""
        if os.getpid() != self.pid:
            os._exit(1)  # a child of the call: its parent answers
        changed = replaced + self._functions() + self._settings()
        if changed:
            more = f" and {len(changed) - 4} more" if len(changed) > 4 else ""
            return f"changed {', '.join(changed[:4])}{more}, which later calls rely on"
        left = sum(_runs_foreign_code(frame) for ident, frame in sys._current_frames().items()
                   if ident not in self.threads)
        return f"left {left} thread{'s' if left > 1 else ''} running after it returned" if left else ""

    def clocks(self) -> str:
        """Restores the functions in CLOCKS that a file replaced when it was imported. Returns their names in
        a sentence, or ""."""
        replaced = self._functions(CLOCKS)
        return f"replaced {', '.join(replaced)}, which the times do not go by" if replaced else ""

    def _functions(self, owners: tuple = ()) -> list[str]:
        """Restores the replaced functions of these owners, or of all, and returns their names."""
        changed = []
        for owner, known in self.functions:
            if owners and owner not in owners:
                continue
            now = vars(owner)
            if _all_there(now, known):
                continue
            for name, function in known.items():
                if now.get(name) is function:
                    continue
                if _by_a_library(now.get(name)):
                    known[name] = now[name]
                    continue
                setattr(owner, name, function)
                changed.append(
                    f"{owner.__module__ + '.' if isinstance(owner, type) else ''}{owner.__name__}.{name}")
        return changed

    def _settings(self) -> list[str]:
        changed = []
        for name, (get, put) in SETTINGS.items():
            if get() != self.settings[name]:
                put(self.settings[name])
                changed.append(name)
        return changed


def _all_there(now: Mapping[str, Any], known: dict[str, Any]) -> bool:
    """Reports whether every name still has its known value. It runs after each call, for 2,000 names."""
    try:
        return all(map(operator.is_, map(now.__getitem__, known), known.values()))
    except KeyError:
        return False


_LIBRARIES = tuple({sysconfig.get_path(name) + os.sep
                     for name in ("stdlib", "platstdlib", "purelib", "platlib")}
                   | {os.path.dirname(os.path.dirname(torch.__file__)) + os.sep})


def _by_a_library(function: Any) -> bool:
    """Reports whether a function belongs to a library, as the replacements do that torch's compiler makes
    when it is imported."""
    return isinstance(function, types.FunctionType) and function.__code__.co_filename.startswith(_LIBRARIES)


def _runs_foreign_code(frame: types.FrameType | None) -> bool:
    """Reports whether a thread executes code outside of all libraries. The thread pools that torch keeps do
    not count."""
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_LIBRARIES) and not name.startswith("<"):
            return True
        frame = frame.f_back
    return False


class Earlier:
    """The answers of the previous call."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, torch.Tensor, int]] = []

    def overwritten(self, now: dict[str, Any]) -> str:
        """Returns in one clause how the call that returned `now` changed the previous answers, "" if it did
        not, and keeps `now` in their place."""
        fault = ""
        for name, tensor, sum_before in self.answers:
            if any(_share_memory(tensor, other) for other in now.values()):
                fault = fault or (f"gave its answer in the memory of the {name} that an earlier call gave, "
                                  "whose caller may still need it")
            elif _sum(tensor) != sum_before:
                fault = fault or f"overwrote the {name} that an earlier call gave"
        kept = {n: t for n, t in now.items() if type(t) is torch.Tensor and t.layout is torch.strided
                and t.device.type in ("cpu", "cuda")}
        held = sum(t.untyped_storage().nbytes() for t in kept.values()) <= HELD_BYTES
        self.answers = [(n, t, _sum(t)) for n, t in kept.items()] if held else []
        return fault


def _share_memory(a: torch.Tensor, b: Any) -> bool:
    if type(b) is not torch.Tensor or b.layout is not torch.strided or a.device != b.device or not a.nbytes:
        return False
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def _sum(tensor: torch.Tensor) -> int:
    """crc32 of a tensor's elements."""
    if not tensor.numel():
        return 0
    flat = tensors.bytes_of(tensor.cpu())
    return zlib.crc32((ctypes.c_char * flat.numel()).from_address(flat.data_ptr()))
