"""Times an implementation's calls on a GPU by the protocol of the CUDA worker: calls rotate over sets of
inputs and are captured in a CUDA graph, with one event between replays. A call that cannot be captured is
timed between events, the host's time included.

A backward is timed alone. If autograd derives it, the forward of every set runs once before the timing, and
the timed call is the backward through the retained graph."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import torch
import torch._functorch.config

import implementation
import tensors
from implementation import Autograd, Graph, Implementation
from launch import _outcome, _outputs, computes
from tensor_descriptions import described
from timed_candidate import Candidate, plain_cache
from wire import Memory, NotHere, WireError

ROTATED_L2 = 2  # these as in internal/backend/measure.go
MOST_ROTATED = 16 << 30
MOST_SETS = 1024
SMALL_PART = 64
EVEN_SETS, EVEN_L2 = 8, 16
OTHERS_L2 = 2
SLOW_CALL_NS = 1_000_000
CACHE_SHARE, SLOWEST_MEMORY, MOST_REPLAY_NS = 1000, 100e9, 500_000_000
POISON_OF_FIRST, POISON_OF_REST = "a", "b"

SAVED_TENSORS, RETAINED_GRAPH, PAIR = "saved tensors", "retained graph", "forward+backward"
"""The starting points of a timed backward, as in internal/backend/measure.go. PAIR: the call includes the
forward."""
COUNTS = "its halves ask how many rows go where before they send them"
"""Why no graph captures a call that is spread over two GPUs."""
# of the free memory, for the sets of a candidate that retain graphs: other candidates need memory too
SHARE_OF_FREE = 0.5

CEILING_BYTES = 256 << 20
PRODUCT = {"bf16": 8192, "fp8": 8192, "fp32": 4096}
"""Rows and columns of the matrices of a ceiling."""


def physics() -> dict[str, Any]:
    """Returns the device's limits as torch reports them. The CUDA worker gives the memory rate if torch does
    not report the bus width."""
    p = torch.cuda.get_device_properties(0)
    clock = getattr(p, "clock_rate", 0) / 1e3
    return {"l2_bytes": p.L2_cache_size, "multiprocessors": p.multi_processor_count,
            "bytes_per_second": _memory_rate(p), "clock_mhz": clock,
            "major": p.major, "minor": p.minor}


def _memory_rate(p) -> float:
    """Returns bytes per second, with two transfers a clock; 0 if torch does not report clock and width."""
    return 2.0 * getattr(p, "memory_clock_rate", 0) * 1e3 * getattr(p, "memory_bus_width", 0) / 8


def rotated(given: int, returned: int) -> int:
    """Returns the bytes of one set that rotation counts, of its inputs or its outputs: backend.Rotated."""
    total = given + returned
    if given * SMALL_PART < total:
        return returned
    if returned * SMALL_PART < total:
        return given
    return min(given, returned)


def rotation(cold: bool, l2: int, given: int, returned: int) -> int:
    """Returns how many sets are needed so that neither inputs nor outputs stay in the L2 cache."""
    if not cold:
        return 1
    sets = 2
    if count := rotated(given, returned):
        sets = max(sets, -(-ROTATED_L2 * l2 // count))
    return max(2, min(sets, MOST_SETS, MOST_ROTATED // max(given + returned, 1)))


def evened(least: int, l2: int, given: int, returned: int) -> int:
    """Returns the number of sets of a cold candidate with fast calls, so that their addresses have no effect
    on the time."""
    return max(least, min(EVEN_SETS, EVEN_L2 * l2 // max(given + returned, 1)))


def sets_of_slow(sets: int, took_ns: int, count: int) -> int:
    """Limits the sets of a call that takes took_ns, with inputs and outputs of count bytes:
    backend.SetsOfSlow."""
    if took_ns >= CACHE_SHARE * count / SLOWEST_MEMORY * 1e9:
        return min(sets, 2)
    return min(sets, max(2, MOST_REPLAY_NS // max(took_ns, 1)))


class CallCandidate:
    """A candidate that times an implementation."""

    def __init__(self, implementation: Implementation, source: str, memory: Memory, device: torch.device,
                 run: dict[str, Any],
                 attributes: dict[str, Any], cold: bool):
        self.implementation, self.source, self.memory, self.device = implementation, source, memory, device
        self.direction = run["pass"]
        self.function = implementation.function(self.direction)
        self.attributes, self.cold = attributes, cold
        self.backward, self.note = "", implementation.remark
        self.loaded = [[tensors.load(memory, ref, device) for ref in run["inputs"]]]
        self.graphs: list[Graph] = []  # of every set, if backwards through retained graphs are timed
        first = [t for _, t in self.loaded[0]]
        implementation.ready()
        why = (implementation.accepts(self.direction, *described(first), **attributes)
               if implementation.accepts else None)
        if why:
            raise Declined(str(why))
        self.l2 = physics()["l2_bytes"]
        self.given = sum(ref["bytes"] for ref in run["inputs"])  # bytes that a call surely reads
        self.returned = sum(ref["bytes"] for ref in run["launches"][0]["outputs"]
                            if ref["name"] in implementation.gives(self.direction))
        self.most = MOST_SETS
        self.halves: list[list] = []  # of every set, if a call is spread over two GPUs
        second = torch.cuda.default_stream(1) if implementation.devices > 1 else None
        if second is not None:
            self.l2 *= 2
            self.halves.append(self.function.divide(tuple(first)))
        self.candidate = Candidate(1, self._call, second, COUNTS if second is not None else "")

    def prepare(self, graph_ns: int) -> None:
        """Tries the call, adds sets unless it is slow, and captures."""
        if self.direction == "backward":
            self._begin_backward()
        sets = rotation(self.cold, self.l2, self.given, self.returned)
        self._rotate(min(sets, 2))
        took = self.candidate.warm_up()
        sets = sets_of_slow(sets, took, self.given + self.returned)
        if self.cold and took < SLOW_CALL_NS:
            sets = evened(sets, self.l2, self.given, self.returned)
        self._rotate(sets)
        self.candidate.prepare(graph_ns)

    def _rotate(self, sets: int) -> None:
        """Adds sets up to this number, as far as memory permits."""
        for i in range(len(self.loaded), min(sets, self.most)):
            self.loaded.append([buffer.again(tensor) for buffer, tensor in self.loaded[0]])
            if self.graphs:
                self.graphs.append(self._graph(i))
            if self.halves:
                self.halves.append(self.function.divide(tuple(tensor for _, tensor in self.loaded[i])))
        self.candidate.sets = len(self.loaded)
        self.rotated = self.candidate.sets * rotated(self.given, self.returned)

    def _call(self, i: int) -> tuple:
        if self.halves:
            return self.function.together(self.halves[i], **self.attributes)
        with implementation.sizes_alone(), torch.no_grad():
            value = (self.graphs[i].back(retain=True) if self.graphs
                     else self.function(*[tensor for _, tensor in self.loaded[i]], **self.attributes))
        return value if type(value) is tuple else (value,)

    # ---- a backward alone

    def _begin_backward(self) -> None:
        """Chooses what is timed: the function on its saved tensors, the backward through a retained graph, or
        forward and backward if no graph can be retained."""
        self.backward = PAIR if self.implementation.recomputes else SAVED_TENSORS
        if not isinstance(self.function, Autograd):
            if self.backward == PAIR:
                self._remark("its backward runs the forward itself")
            return
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        graph = self._graph(0)
        if why := self._only_once(graph):
            self._remark(why)
            return
        self.backward, self.graphs = RETAINED_GRAPH, [graph]
        if self.implementation.compiled:
            self._remark("compiled with donated_buffer = False, so that the graph can be retained")
        everything = self.given + self.returned + torch.cuda.memory_allocated() - before
        # it is unknown which of the other tensors the graph still reads
        self.given = sum(buffer.count for buffer, _ in self.loaded[0][self.function.inputs:])
        self.most = _room(everything)

    def _remark(self, sentence: str) -> None:
        self.note = f"{self.note}; {sentence}" if self.note else sentence

    def _graph(self, i: int) -> Graph:
        """Runs the forward of a set, on the candidate's stream: autograd runs the backward on the stream of
        the forward, and only that stream is captured."""
        self.candidate.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.candidate.stream), implementation.sizes_alone():
            graph = self.function.graph(*[tensor for _, tensor in self.loaded[i]], **self.attributes)
            self.candidate.stream.synchronize()
        return graph

    def _only_once(self, graph: Graph) -> str:
        """Returns why a graph cannot be used repeatedly, "" if it can: a function may free or overwrite its
        saved tensors, or return them."""
        with torch.cuda.stream(self.candidate.stream), implementation.sizes_alone(), torch.no_grad():
            first = graph.back(retain=True)
            try:
                second = graph.back(retain=True)
            except Exception as e:
                if isinstance(e, (torch.AcceleratorError, torch.OutOfMemoryError)):
                    raise
                why = str(e).splitlines()[0] if str(e) else type(e).__name__
                return f"a second backward through its graph fails: {why}"[:300]
            self.candidate.stream.synchronize()
            for name, a, b in zip(self.implementation.gives(self.direction), first, second):
                if a.numel() and a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr():
                    return f"its backward gives as {name} what its forward has made"
                if name not in self.implementation.nondeterministic and _unlike(a, b):
                    return f"a second backward through its graph gives another {name}"
        return ""

    def poison(self, of_first: str = POISON_OF_FIRST) -> None:
        """Poisons the outputs of the captured calls, so that the judged values come from a timed call."""
        for i, values in enumerate(self.candidate.kept):
            for value in values:
                if (isinstance(value, torch.Tensor) and value.is_contiguous() and value.numel()
                    and self.candidate.graph is not None and not self._is_input(i, value)):
                    tensors.poison(value.detach().view(-1), POISON_OF_REST if i else of_first)
        torch.cuda.synchronize()

    def _is_input(self, i: int, value: torch.Tensor) -> bool:
        """Reports whether a call returned one of its inputs."""
        return any(buffer.owns(value) for buffer, _ in self.loaded[i])

    def finish(self, launches: list[dict[str, Any]]) -> dict[str, Any]:
        """Returns the outputs of the first and the last set, checksums of their inputs, and the outputs that
        differ between sets."""
        replies = []
        names = self.implementation.gives(self.direction)
        for i, request in zip((0, self.candidate.sets - 1), launches):
            if replies and self.candidate.sets == 1:
                self.poison(request["poison"])
                self.candidate.time(0, 1)
            buffers = [buffer for buffer, _ in self.loaded[i]]
            guards = [entry for buffer in buffers for entry in buffer.report()]
            reply = {"inputs": [tensors.checksum(buffer) for buffer in buffers],
                     "outputs": _outputs(names, self._kept(i), request["outputs"], self.memory,
                                         self.device)}
            if guards:
                reply["guards"] = guards
            replies.append(reply)
        return {"launches": replies, "differing": self._differing(names)}

    def _kept(self, i: int) -> tuple:
        """Returns the results of the last call of a set, whole."""
        kept = self.candidate.kept[i]
        return self.function.join(kept) if self.halves else kept

    def release(self) -> None:
        """Frees what it holds on the GPU."""
        self.candidate.release()
        self.loaded.clear()
        self.halves.clear()
        self.graphs.clear()

    def _differing(self, names) -> list[dict[str, Any]]:
        """Returns, for each output that differs between sets, the first set with other bits than set 0, and
        the inputs that differ there too."""
        found: dict[str, dict[str, Any]] = {}
        first = self._kept(0)
        for i in range(1, len(self.candidate.kept)):
            for name, one, other in zip(names, first, self._kept(i)):
                n = 0 if name in found else _unlike(one, other)
                if n:
                    inputs = [a.name for (a, _), (b, _) in zip(self.loaded[0], self.loaded[i])
                              if not torch.equal(a.bytes(), b.bytes())]
                    found[name] = {"output": name, "set": i, "bytes": n, "inputs": inputs}
        return [found[name] for name in names if name in found]


def _room(set_bytes: int) -> int:
    """Returns how many sets of this size a candidate may have, the existing one included, with memory left
    for a call's own allocations."""
    held = torch.cuda.memory_allocated()
    free = torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved() - held
    needed = torch.cuda.max_memory_allocated() - held
    fit = 1 + max(0, int(SHARE_OF_FREE * free) - needed) // max(set_bytes, 1)
    return min(MOST_SETS, fit, max(2, MOST_ROTATED // max(set_bytes, 1)))


def _unlike(a: Any, b: Any) -> int:
    """Returns how many bytes of two outputs differ: at least 1 if shape or dtype differ, or one is
    missing."""
    if a is None or b is None or a.shape != b.shape or a.dtype != b.dtype:
        return int(a is not b)
    if not a.numel():
        return 0
    a, b = (tensors.bytes_of(t) for t in (a, b))
    return int((a != b).sum())


class CeilingCandidate:
    """A candidate that times a ceiling of the device: the driver's copy, or torch's product of random
    matrices."""

    def __init__(self, name: str, cold: bool):
        self.bytes = self.flops = 0
        self.device = torch.device("cuda")
        if name == "memcpy":
            sets = rotation(cold, physics()["l2_bytes"], CEILING_BYTES, CEILING_BYTES)
            pairs = [(torch.empty(CEILING_BYTES, dtype=torch.uint8, device="cuda"),
                      torch.randint(0, 256, (CEILING_BYTES,), dtype=torch.uint8, device="cuda"))
                     for _ in range(sets)]
            self.bytes, self.rotated = 2 * CEILING_BYTES, sets * CEILING_BYTES
            self.candidate = Candidate(sets, lambda i: (pairs[i][0].copy_(pairs[i][1]),))
            return
        if name not in PRODUCT:
            raise Declined(f"the Python worker has no ceiling {name}")
        n = PRODUCT[name]
        self.flops, self.rotated = 2 * n**3, 0
        sets = 2 if cold else 1
        call = getattr(self, "_" + name)
        operands = [call(n) for _ in range(sets)]
        self.candidate = Candidate(sets, lambda i: (operands[i](),))

    @staticmethod
    def _bf16(n: int):
        a, b = (torch.randn(n, n, dtype=torch.bfloat16, device="cuda") for _ in range(2))
        return lambda: a @ b

    @staticmethod
    def _fp32(n: int):
        a, b = (torch.randn(n, n, device="cuda") for _ in range(2))
        return lambda: a @ b

    @staticmethod
    def _fp8(n: int):
        if torch.cuda.get_device_capability() < (8, 9):
            raise Declined("this GPU has no product in fp8")
        a, b = (torch.randn(n, n, device="cuda").to(torch.float8_e4m3fn) for _ in range(2))
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True)

    def prepare(self, graph_ns: int) -> None:
        """Tries the calls and captures them."""
        self.candidate.warm_up()
        self.candidate.prepare(graph_ns)

    def poison(self) -> None:
        """Does nothing: a ceiling is not judged."""

    def finish(self, launches: list[dict[str, Any]]) -> dict[str, Any]:
        """Returns no launches: a ceiling is not judged."""
        return {"launches": []}

    def release(self) -> None:
        """Frees what it holds on the GPU."""
        self.candidate.release()


class Declined(Exception):
    """The reason for which a call or a ceiling is not timed."""


HARNESS = (KeyboardInterrupt, NotHere, WireError)
"""Exceptions of the harness, as opposed to those of the timed function."""


class Measurements:
    """The candidates of a worker, by the driver's numbers."""

    def __init__(self):
        self.candidates: dict[int, CallCandidate | CeilingCandidate] = {}
        self.others: dict[Any, tuple[torch.Tensor, ...]] = {}  # by device

    def _others(self, candidate: CallCandidate | CeilingCandidate):
        """Returns a function that queues the copy before a cold measurement (backend.OthersL2), on each
        device of the candidate. Its buffers are made once."""
        second = candidate.candidate.second
        for device in (candidate.device, *(() if second is None else (second.device,))):
            if device not in self.others:
                self.others[device] = tuple(torch.empty(OTHERS_L2 * physics()["l2_bytes"], dtype=torch.uint8,
                                                        device=device) for _ in range(2))

        def copy() -> None:
            for device, (to, what) in self.others.items():
                if device == candidate.device or second is not None:
                    to.copy_(what)
        return copy

    def step(self, args: dict[str, Any], make) -> dict[str, Any]:
        """Carries out one step. make(prepare) makes the candidate of an implementation."""
        number, step = args["arm"], args["step"]
        if step == "prepare":
            return self._prepare(number, args["prepare"], make)
        if number not in self.candidates:
            raise WireError(f"measure candidate {number}: nothing is prepared under this number")
        candidate = self.candidates[number]
        source = getattr(candidate, "source", "")
        try:
            if step == "time":
                wanted = args["time"]
                plain_cache()  # a device that refuses is reported in the note
                if wanted.get("settle_ns"):
                    candidate.candidate.settle(wanted["settle_ns"])
                before = self._others(candidate) if wanted.get("others") else None
                return {"samples_ns": candidate.candidate.time(wanted.get("discard", 0), wanted["samples"],
                                                               before)}
            if step == "finish":
                return self._finish(number, args["finish"].get("launches") or [])
        except BaseException as e:
            _abandon(self.candidates.pop(number, None))  # a failed candidate gets no further requests
            if isinstance(e, HARNESS):
                raise
            failure = _failed(e, source)
            return failure if step == "time" else {"launches": [failure], "fatal": failure.pop("fatal")}
        raise WireError(f"measure step {step!r}: want prepare, time or finish")

    def _prepare(self, number: int, prepare: dict[str, Any], make) -> dict[str, Any]:
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        candidate = None
        try:
            candidate = (CeilingCandidate(prepare["ruler"],
                                          prepare.get("cold", False)) if prepare.get("ruler")
                   else make(prepare))
            candidate.prepare(prepare["graph_ns"])
            candidate.poison()
        except BaseException as e:
            _abandon(candidate)
            if isinstance(e, HARNESS):
                raise
            return _failed(e, getattr(make, "source", ""))
        self.candidates[number] = candidate
        inner = candidate.candidate
        return {"mode": "graph" if inner.graph is not None else "events", "mode_reason": inner.reason,
                "sets": inner.sets, "calls": inner.calls,
                "rotated_bytes": candidate.rotated, "estimate_ns": inner.estimate,
                "peak_bytes": torch.cuda.max_memory_allocated() - before,
                "bytes": getattr(candidate, "bytes", 0), "flops": getattr(candidate, "flops", 0),
                "backward": getattr(candidate, "backward", ""),
                "note": "; ".join(filter(None, (getattr(candidate, "note", ""), inner.note(),
                                                plain_cache()))),
                "device": physics(), "devices": 1 if inner.second is None else 2}

    def _finish(self, number: int, launches: list[dict[str, Any]]) -> dict[str, Any]:
        reply = self.candidates[number].finish(launches)
        self.candidates.pop(number).release()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()  # another worker may need the memory
        return reply


def _abandon(candidate: CallCandidate | CeilingCandidate | None) -> None:
    """Frees the memory of a failed candidate, unless the context is broken."""
    with suppress(Exception):
        if candidate is not None:
            candidate.release()


def _failed(e: BaseException, source: str = "") -> dict[str, Any]:
    """Returns a reply that ends a candidate. It has no field for a line, so the message ends with that of the
    exception."""
    outcome = ({"status": "UNSUPPORTED", "message": str(e), "fatal": False} if isinstance(e, Declined)
               else _outcome(e, source))
    where = outcome.pop("where", None)
    if where and outcome["status"] == "CRASH":
        outcome["message"] += f" ({where['file']}:{where['line']})"
    outcome["fatal"] = (outcome["fatal"]
                        or not computes(torch.device("cuda" if torch.cuda.is_available() else "cpu")))
    if not outcome["fatal"]:
        torch.cuda.empty_cache()
    return outcome

