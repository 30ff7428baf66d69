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
    its results. Calls that use a second device, on its stream `second`, are captured by no graph, for the
    reason given. They are timed by the clocks of both: a sample is the longer time."""

    def __init__(self, sets: int, call, second: torch.cuda.Stream | None = None, reason: str = ""):
        self.sets, self.call, self.second = sets, call, second
        self.calls, self.estimate = sets, 0.0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.reason = reason
        self.stream = torch.cuda.Stream()
        self.kept: list[tuple] = []  # the results of each set's last call
        self.events: list[torch.cuda.Event] = []
        self.events_of_second: list[torch.cuda.Event] = []
        self.clocks = (0.0, 0.0)  # ms by either device's clock of what was timed last

    def warm_up(self) -> int:
        """Tries the calls, and returns the time of the last one in ns."""
        self.stream.wait_stream(torch.cuda.current_stream())
        took = 0
        with torch.cuda.stream(self.stream):
            for i in range(WARM_UPS):
                began = time.perf_counter_ns()
                self._one(i % self.sets)
                self.stream.synchronize()
                took = time.perf_counter_ns() - began
        torch.cuda.synchronize()
        return took

    def _one(self, i: int) -> tuple:
        """Makes the call of a set; what follows on the stream waits for the second device, too."""
        results = self.call(i)
        if self.second is not None:
            self.stream.wait_stream(self.second)
        return results

    def prepare(self, graph_ns: int) -> None:
        """Captures a call for each set, and more calls if these take less than graph_ns."""
        self.calls, self.kept = self.sets, [()] * self.sets
        try:
            if self.second is None:
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
            self.kept[i % self.sets] = self._one(i % self.sets)

    def release(self) -> None:
        """Frees its memory on the GPU at once. The candidate and its call refer to each other, so only a
        garbage collection would free it otherwise."""
        graph, self.graph, self.call, self.kept, self.events = self.graph, None, None, [], []
        self.events_of_second = []
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
            self._record(0)
            for i in range(discard + samples):
                self._replay()
                self._record(i + 1)
            self.stream.synchronize()
        timed = range(discard, discard + samples)
        first = [self.events[i].elapsed_time(self.events[i + 1]) for i in timed]
        if self.second is None:
            return [ms * 1e6 / self.calls for ms in first]
        self.second.synchronize()
        other = [self.events_of_second[i].elapsed_time(self.events_of_second[i + 1]) for i in timed]
        self.clocks = sum(first), sum(other)
        return [max(both) * 1e6 / self.calls for both in zip(first, other, strict=True)]

    def _record(self, i: int) -> None:
        """Records the time on the stream; the second device waits for that, and takes the time by its own
        clock."""
        self.events[i].record()
        if self.second is None:
            return
        if len(self.events_of_second) == i:
            self.events_of_second.append(torch.cuda.Event(enable_timing=True))
        self.second.wait_event(self.events[i])
        self.events_of_second[i].record(self.second)

    def note(self) -> str:
        """Returns how calls on two devices are timed, in a sentence; "" for others."""
        first, other = self.clocks
        if self.second is None or not other:
            return ""
        return (f"on two GPUs, whose clocks differed by {100 * abs(first / other - 1):.2f} %: a time is what "
                "the slower of them says")
