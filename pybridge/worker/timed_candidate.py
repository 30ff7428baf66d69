"""A timed candidate: calls over sets of arguments, captured in a CUDA graph and replayed between events."""

from __future__ import annotations

import ctypes
import gc
import math
import time
from contextlib import contextmanager

import torch

MOST_CAPTURED = 4096  # as in internal/backend/measure.go
WARM_UPS = 3


@contextmanager
def nothing_collected():
    """A context without garbage collection, which could free objects that CUDA cannot free during a capture,
    such as another graph."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


PERSISTING_L2 = 6  # CU_LIMIT_PERSISTING_L2_CACHE_SIZE


def plain_cache() -> str:
    """Resets persisting lines of the L2 cache and the part reserved for them, which earlier code may have
    requested. Returns a sentence if the driver refuses, else ""."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        code = driver.cuCtxResetPersistingL2Cache() or driver.cuCtxSetLimit(PERSISTING_L2, ctypes.c_size_t(0))
    except (OSError, AttributeError):  # no driver, or one without this function
        return ""
    return f"reset the persisting lines of the L2 cache: CUDA error {code}" if code else ""


class Candidate:
    """Calls of one function over sets of arguments. call(i) makes the call of set i and returns a tuple of
    its results."""

    def __init__(self, sets: int, call):
        self.sets, self.call = sets, call
        self.calls, self.estimate = sets, 0.0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.reason = ""
        self.stream = torch.cuda.Stream()
        self.kept: list[tuple] = []  # the results of each set's last call
        self.events: list[torch.cuda.Event] = []

    def warm_up(self) -> int:
        """Tries the calls, and returns the time of the last one in ns."""
        self.stream.wait_stream(torch.cuda.current_stream())
        took = 0
        with torch.cuda.stream(self.stream):
            for i in range(WARM_UPS):
                began = time.perf_counter_ns()
                self.call(i % self.sets)
                self.stream.synchronize()
                took = time.perf_counter_ns() - began
        torch.cuda.synchronize()
        return took

    def prepare(self, graph_ns: int) -> None:
        """Captures a call for each set, and more calls if these take less than graph_ns."""
        self.calls, self.kept = self.sets, [()] * self.sets
        try:
            self._capture(self.sets)
        except Exception as e:  # code that cannot be captured raises many kinds
            if (isinstance(e, (torch.AcceleratorError, torch.OutOfMemoryError))
                and "captur" not in str(e).lower()):
                raise
            first_line = str(e).splitlines()[0] if str(e) else ""
            self.reason, self.graph = f"{type(e).__name__}: {first_line}"[:300], None
            torch.cuda.synchronize()
        self._estimate()
        turns = math.ceil(graph_ns / max(self.estimate * self.sets, 1e-3))
        if turns > 1:
            self.calls = min(turns * self.sets, max(self.sets, MOST_CAPTURED // self.sets * self.sets))
            if self.graph is not None:
                self._capture(self.calls)
            self._estimate()

    def _capture(self, calls: int) -> None:
        self.graph, self.kept = None, [()] * self.sets
        graph, current = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
        # The results of a call are kept until the next call of the same set: otherwise the allocator would
        # give every call the same block.
        try:
            with nothing_collected(), torch.cuda.graph(graph, stream=self.stream,
                                                       capture_error_mode="thread_local"):
                for i in range(calls):
                    self.kept[i % self.sets] = self.call(i % self.sets)
        finally:
            # A failed capture leaves its stream the current one, on which the inputs of later calls would be
            # filled while other streams already copy into them.
            torch.cuda.set_stream(current)
        self.graph, self.calls = graph, calls

    def _estimate(self) -> None:
        self.estimate = self.time(1, 2)[1]

    def _replay(self) -> None:
        if self.graph is not None:
            self.graph.replay()
            return
        for i in range(self.calls):
            self.kept[i % self.sets] = self.call(i % self.sets)

    def release(self) -> None:
        """Frees its memory on the GPU at once. The candidate and its call refer to each other, so only a
        garbage collection would free it otherwise."""
        graph, self.graph, self.call, self.kept, self.events = self.graph, None, None, [], []
        if graph is not None:
            graph.reset()

    def settle(self, ns: int) -> None:
        """Replays without timing until ns have passed."""
        end = time.perf_counter_ns() + ns
        with torch.cuda.stream(self.stream):
            while time.perf_counter_ns() < end:
                self._replay()
                self.stream.synchronize()

    def time(self, discard: int, samples: int, before=None) -> list[float]:
        """Returns ns per call of replays that are queued with an event between them, after the untimed work
        that before() queues."""
        while len(self.events) < discard + samples + 1:
            self.events.append(torch.cuda.Event(enable_timing=True))
        with torch.cuda.stream(self.stream):
            if before is not None:
                before()
            self.events[0].record()
            for i in range(discard + samples):
                self._replay()
                self.events[i + 1].record()
            self.stream.synchronize()
        return [self.events[i].elapsed_time(self.events[i + 1]) * 1e6 / self.calls
                for i in range(discard, discard + samples)]
