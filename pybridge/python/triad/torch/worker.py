"""CUDA and Triton kernels for tensors on a CPU: in a worker process, in the emulator and in Triton's
interpreter, as `triad compare` runs them. It is meant for tests: it is slow, and every call copies."""

from __future__ import annotations

import atexit
import fcntl
import functools
import json
import mmap
import os
import signal
import socket
import sys
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from triad.command import binary, environment
from triad.errors import TriadError, Unavailable, UsageError, refusal
from triad.torch.files import BRIDGE, OPERATORS
from triad.torch.signature import NAMES

PROTOCOL = 1
MEMORY_BYTES = 16 << 30  # sparse: what is not touched takes no memory
ALIGNMENT = 256


def cache_folder() -> Path:
    """Where triad keeps built libraries."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return Path(base if os.path.isabs(base) else os.path.expanduser("~/.cache")) / "triad"


class Worker:
    """One worker process and the memory it shares with us; one call at a time."""

    def __init__(self, family: str):
        self.family = family
        self._lock = threading.Lock()
        self._sent = 0
        ours, theirs = socket.socketpair()
        memory = os.memfd_create("triad", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(memory, MEMORY_BYTES)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
        self._memory = mmap.mmap(memory, MEMORY_BYTES)
        command = [str(binary()), "worker", "cuda", "--cache",
                   str(cache_folder() / "cuda")] if family == "cuda" else \
            [sys.executable, "-u", str(BRIDGE / "worker/worker.py"), "--operators", str(OPERATORS)]
        env = {**environment(), "TRIAD_DEVICE": "cpu", "PYTHONNOUSERSITE": "1"}
        env.pop("PYTHONPATH", None) if family == "cuda" else None
        # Through high numbers: the descriptors may themselves be 3 and 4.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in (theirs.fileno(), memory)]
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._log = os.memfd_create("log")
        actions = [(os.POSIX_SPAWN_DUP2, null, 0), (os.POSIX_SPAWN_DUP2, self._log, 1),
                   (os.POSIX_SPAWN_DUP2, self._log, 2),
                   (os.POSIX_SPAWN_DUP2, high[0], 3), (os.POSIX_SPAWN_DUP2, high[1], 4)]
        try:
            self._pid = os.posix_spawn(command[0], command, env, file_actions=actions, setsid=True)
        except OSError as e:
            raise Unavailable(f"start the worker for {family} kernels: {e}") from e
        finally:
            theirs.close()
            for fd in (memory, null, *high):
                os.close(fd)
        self._socket, self._lines = ours, ours.makefile("rb")
        atexit.register(self.close)
        self.ask("hello", {"protocol": PROTOCOL, "memory_bytes": MEMORY_BYTES})

    def close(self) -> None:
        """Ends the worker."""
        if self._pid:
            pid, self._pid = self._pid, 0
            self._socket.close()
            try:
                os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass

    def ask(self, do: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Sends one request and gives its result."""
        self._sent += 1
        try:
            self._socket.sendall(json.dumps({"id": self._sent, "do": do, do: arguments}).encode() + b"\n")
            line = self._lines.readline()
        except OSError:
            line = b""
        if not line:
            self.close()
            worker.cache_clear()
            log = os.pread(self._log, 1 << 20, 0).decode(errors="replace").strip()
            raise TriadError(f"the worker for {self.family} kernels died: {log[-500:] or 'it said nothing'}")
        reply = json.loads(line)
        if reply.get("error"):
            raise TriadError(reply["error"])
        return reply["result"]

    def load(self, op: str) -> list[dict[str, Any]]:
        """The implementations of an operator; kernels are built where they are not."""
        with self._lock:
            reply = self.ask("load", {"op": op})
        ours = [i for i in reply.get("implementations") or [] if i["name"].startswith(self.family + "/")]
        failed = [f for f in reply.get("failed") or [] if f["implementation"].startswith(self.family)]
        if not ours and failed:
            raise Unavailable(f"{op}/{self.family}: {failed[0]['message']}")
        return ours

    def run(self, entry: Mapping[str, Any], dtype: str, tensors: Sequence[torch.Tensor],
            attributes: Sequence[Mapping[str, Any]],
            results: Sequence[tuple]) -> dict[str, torch.Tensor]:
        """Runs one call and gives its outputs by name. UsageError for a call that the implementation
        declines."""
        with self._lock:
            self._used = 0
            inputs = [self._put(f"input{i}", t) for i, t in enumerate(tensors)]
            outputs = [self._place(name, shape, dtype_) for name, shape, dtype_ in results]
            reply = self.ask("run", {"op": entry["op"], "implementation": entry["name"],
                                     "pass": entry["pass"], "dtype": dtype, "contract": entry["contract"],
                                     "attrs": attributes, "inputs": inputs,
                                     "launches": [{"poison": "a", "outputs": outputs}]})
            launch = reply["launches"][0]
            status = launch.get("status")
            if status:
                name, why = f"{entry['op']}/{entry['name']}", launch.get("message", "")
                raise (refusal(name, why, entry["pass"]) if status == "UNSUPPORTED"
                       else TriadError(f"{name}: {status}: {why}"))
            given = {o["name"] for o in launch["outputs"] if o["present"]}
            return {r["name"]: self._get(r, dtype_) for r, (_, _, dtype_) in zip(outputs, results)
                    if r["name"] in given}

    def _place(self, name: str, shape: Sequence[int], dtype: torch.dtype, storage: int | None = None,
               stride: Sequence[int] | None = None,
               start: int = 0) -> dict[str, Any]:
        count = 1
        strides: list[int] = []
        for size in reversed(shape):
            strides.append(count)
            count *= max(size, 1)
        size = storage if storage is not None else count * dtype.itemsize if all(shape) else 0
        at = -(-self._used // ALIGNMENT) * ALIGNMENT
        self._used = at + size
        if self._used > MEMORY_BYTES:
            raise UsageError(f"{name}: tensors of more than {MEMORY_BYTES >> 30} GiB do not fit into a "
                             "worker's memory: use a GPU")
        return {"name": name, "dtype": NAMES[dtype], "shape": list(shape),
                "stride": list(stride if stride is not None else strides[::-1]), "start": start,
                "offset": at, "bytes": size, "crc32": 0}

    def _put(self, name: str, tensor: torch.Tensor) -> dict[str, Any]:
        """Copies what a tensor reaches of its storage; strides stay."""
        reach = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride())) + 1 if tensor.numel() else 0
        ref = self._place(name, tensor.shape, tensor.dtype, reach * tensor.element_size(), tensor.stride())
        if reach:
            flat = tensor.detach().as_strided((reach,), (1,)).view(torch.uint8)
            into = memoryview(self._memory)[ref["offset"]:ref["offset"] + ref["bytes"]]
            torch.frombuffer(into, dtype=torch.uint8).copy_(flat)
            ref["crc32"] = zlib.crc32(into)
        return ref

    def _get(self, ref: Mapping[str, Any], dtype: torch.dtype) -> torch.Tensor:
        if not ref["bytes"]:
            return torch.empty(ref["shape"], dtype=dtype)
        view = memoryview(self._memory)[ref["offset"]:ref["offset"] + ref["bytes"]]
        return torch.frombuffer(view, dtype=torch.uint8).clone().view(dtype).reshape(ref["shape"])


@functools.cache
def worker(family: str, pid: int) -> Worker:
    """The worker of a family of kernels, one for each process."""
    return Worker(family)


class WorkerRow:
    """One implementation that runs in a worker."""

    compiled = False
    fresh = True

    def __init__(self, name: str, entries: Sequence[Mapping[str, Any]],
                 attributes: Sequence[Mapping[str, Any]]):
        self.name, self._entries, self._attributes = name, entries, attributes
        forward = next((e["forward"] for e in entries if e.get("forward")), name)
        self.follows = forward if "/" in forward else f"{name.partition('/')[0]}/{forward}"
        self.recomputes = any(e.get("recomputes") for e in entries)

    def _entry(self, direction: str, dtype: str) -> Mapping[str, Any] | None:
        return next((e for e in self._entries if e["pass"] == direction and dtype in e["dtypes"]), None)

    def outputs(self, direction: str, dtype: str) -> tuple[str, ...]:
        """The names that a pass gives for a dtype."""
        entry = self._entry(direction, dtype)
        return tuple(entry["outputs"]) if entry else ()

    def contract(self, direction: str, dtype: str) -> str:
        """The contract it declares."""
        entry = self._entry(direction, dtype)
        return entry["contract"] if entry else ""

    def declines(self, direction: str, tensors: Sequence[torch.Tensor], attributes: Mapping[str, Any]) -> str:
        """Not known before the call: the worker answers it."""
        return ""

    def prepared(self, direction: str, dtype: str, attributes: Mapping[str, Any],
                 results: Sequence[tuple]) -> Callable[..., Any]:
        """A function of the tensors that calls it."""
        return lambda tensors: self.run(direction, dtype, tensors, attributes, results)

    def run(self, direction: str, dtype: str, tensors: Sequence[torch.Tensor], attributes: Mapping[str, Any],
            results: Sequence[tuple]) -> list[torch.Tensor | None]:
        """Calls it; the outputs in the order of results, None for one that it does not give."""
        entry = self._entry(direction, dtype)
        if entry is None:
            raise UsageError(f"{self.name} has no {direction} in {dtype}")
        wanted = [r for r in results if r[0] in entry["outputs"]]
        got = worker(self.name.partition("/")[0], os.getpid()).run(entry, dtype, tensors,
            [number(a, attributes[a["name"]]) for a in self._attributes], wanted)
        return [got.get(name) for name, *_ in results]


def number(attribute: Mapping[str, Any], value: Any) -> dict[str, Any]:
    """An attribute as the wire and the C ABI carry it: booleans 0 or 1, enumerations by index."""
    n = attribute["values"].index(value) if attribute["type"] == "enum" else float(value)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return {"name": attribute["name"], "type": attribute["type"], "number": n, "text": text}


@functools.cache
def rows(op: str, family: str, attributes: str) -> dict[str, WorkerRow]:
    """The rows of a family; attributes is the JSON of the spec's."""
    by_name: dict[str, list[Mapping[str, Any]]] = {}
    for entry in worker(family, os.getpid()).load(op):
        by_name.setdefault(entry["name"], []).append(entry)
    return {name: WorkerRow(name, entries, json.loads(attributes)) for name, entries in by_name.items()}
