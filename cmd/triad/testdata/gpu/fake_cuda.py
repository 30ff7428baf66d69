"""The Python worker of the fake GPU: rows run on the CPU, Triton's in its interpreter, and what they take is computed from what they move. It stands in
for the parts of torch.cuda that measure.py uses: streams, events, graphs, sizes. Only the tests of the driver have it."""

from __future__ import annotations

import contextlib
import os
import random
import zlib
from types import SimpleNamespace

BYTES_PER_SECOND = 1e12
OVERHEAD_NS = 2500
NOISE = 0.003
SECOND_IS_SLOWER = 1.01  # the clock of the second GPU

clock_ns = 0.0
capturing = None  # the graph that takes what is called
chance = random.Random(7)


class Graph:
    """A captured graph: what its calls took, and what the call of each set returned, with a copy. A replay writes the same values again."""

    def __init__(self):
        self.ns, self.kept, self.returned = 0.0, [], {}

    def replay(self):
        for tensor, value in self.kept:
            tensor.copy_(value)
        advance(self.ns)

    def reset(self):
        self.kept, self.returned = [], {}


class Event:
    """A moment of the fake clock."""

    def __init__(self, enable_timing=False):
        self.at = 0.0

    def record(self, stream=None):
        self.at = clock_ns * (SECOND_IS_SLOWER if stream is not None else 1)

    def elapsed_time(self, other):
        return (other.at - self.at) / 1e6


class Stream:
    device = "cpu"

    def wait_event(self, event):
        pass

    def wait_stream(self, other):
        pass

    def synchronize(self):
        pass


@contextlib.contextmanager
def graph(into, **_):
    global capturing
    capturing = into
    try:
        yield
    finally:
        capturing = None


def advance(ns):
    global clock_ns
    clock_ns += ns * (1 + NOISE * chance.gauss(0, 1))


def timed(call, name, bytes_of):
    """call, on the fake clock."""
    def on_the_clock(i):
        import torch
        again = capturing is not None and i in capturing.returned  # a later call of a set would give the same
        returned = capturing.returned[i] if again else call(i)
        values = returned if isinstance(returned, tuple) else (returned,)
        slower = 1 + zlib.crc32(name.encode()) % 8 / 4 if name else 1
        ns = (OVERHEAD_NS + bytes_of(values) / BYTES_PER_SECOND * 1e9) * slower
        if capturing is None:
            advance(ns)
        else:
            capturing.ns += ns
            if not again:
                capturing.returned[i] = returned
                capturing.kept += [(v.detach(), v.detach().clone()) for v in values if isinstance(v, torch.Tensor)]
        return returned
    return on_the_clock


def name_of(call):
    """The name of what a candidate times."""
    owner = getattr(call, "__self__", None)
    return owner.implementation.name if hasattr(owner, "implementation") else ""


def moved(call):
    """How many bytes the call of a candidate moves: those of its inputs, and of what it returned."""
    owner = getattr(call, "__self__", None)

    def bytes_of(values):
        if hasattr(owner, "flops"):  # a ceiling: 500 TFLOP/s
            return 0.75 * owner.bytes + 2e-3 * owner.flops
        given = sum(buffer.count for buffer, _ in owner.loaded[0]) if hasattr(owner, "loaded") else 0
        return given + sum(v.nbytes for v in values if hasattr(v, "nbytes"))
    return bytes_of


def install():
    """Puts the stand-ins in their places."""
    import torch
    import torch.distributed

    import measure
    cuda = torch.cuda
    cuda.Stream, cuda.Event, cuda.CUDAGraph, cuda.graph = Stream, Event, Graph, graph
    cuda.stream = lambda stream: contextlib.nullcontext()
    cuda.device_count = lambda: len(os.environ.get("CUDA_VISIBLE_DEVICES", "0,1").split(","))
    cuda.default_stream = lambda device: Stream()
    torch.distributed.is_nccl_available = lambda: True  # tensors lie on the CPU, so that gloo takes its place
    cuda.current_stream, cuda.set_stream = lambda *_: Stream(), lambda stream: None
    cuda.synchronize = cuda.reset_peak_memory_stats = cuda.empty_cache = lambda *_: None
    cuda.memory_allocated = cuda.max_memory_allocated = cuda.memory_reserved = lambda *_: 0
    cuda.mem_get_info = lambda *_: (4 << 30, 4 << 30)
    cuda.get_device_capability = lambda *_: (9, 0)
    cuda.get_device_properties = lambda *_: SimpleNamespace(L2_cache_size=4 << 10, multi_processor_count=4, clock_rate=1980000, memory_clock_rate=500000,
                                                            memory_bus_width=16000, major=9, minor=0)
    begin = measure.Candidate.__init__

    def __init__(candidate, sets, call, *second):
        begin(candidate, sets, timed(call, name_of(call), moved(call)), *second)

    measure.Candidate.__init__ = __init__
    measure.Candidate.settle = lambda candidate, ns: candidate.time(0, 1)

    class CeilingCandidate:
        """A ceiling that computes nothing: its time is what the fake GPU takes at best."""

        def __init__(self, name, cold):
            if name != "memcpy" and name not in measure.PRODUCT:
                raise NotImplementedError(f"the Python worker has no ceiling {name}")
            self.bytes, self.flops, self.rotated = (2 << 28, 0, 2 << 28) if name == "memcpy" else (0, 2 * measure.PRODUCT[name] ** 3, 0)
            self.candidate = measure.Candidate(2 if cold else 1, self._call)

        def _call(self, i):
            return ()

        def prepare(self, graph_ns):
            self.candidate.prepare(graph_ns)

        def poison(self):
            pass

        def finish(self, launches):
            return {"launches": []}

        def release(self):
            self.candidate.release()

    measure.CeilingCandidate = CeilingCandidate


def of(kind):
    """The worker of the fake GPU, made from the product's for a CPU."""
    class Fake(kind):
        def _import_torch(self):
            device, os.environ["TRIAD_DEVICE"] = os.environ.get("TRIAD_DEVICE"), "cpu"
            versions = super()._import_torch()
            os.environ["TRIAD_DEVICE"] = device or ""
            return versions

        def _begin_watch(self):
            install()
            super()._begin_watch()
            self.on_gpu = True
    return Fake
