"""A driver in miniature: starts a worker on a socketpair and a memfd, as the Go driver does, and runs single
cases through it.

Workers stay on the CPU; with TRIAD_DEVICE=gpu in the environment they take the GPU if there is one."""

from __future__ import annotations

import json
import mmap
import os
import socket
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import torch

BRIDGE = Path(__file__).resolve().parents[1]
OPERATORS = BRIDGE.parent / "triton"
if str(BRIDGE / "worker") not in sys.path:
    sys.path.insert(0, str(BRIDGE / "worker"))

import bridge_folders  # noqa: E402, F401  (found through the line above)

import tensors  # noqa: E402

ALIGNMENT = 256

PARENT = int(os.environ["TRIAD_TEST_PARENT"]) if "TRIAD_TEST_PARENT" in os.environ else None
"""The descriptor over which the product's parent of workers is asked, which has imported torch (forked.py);
None where the tests run without it."""


class Died(Exception):
    """The worker closed its end of the socket."""


class Client:
    """One worker process and the memory it shares."""

    def __init__(self, script: str = "worker/worker.py", operators: Path = OPERATORS,
                 environment: dict[str, str] | None = None, first: str = "",
                 memory_bytes: int = 64 << 20, parent: int | None = None):
        """first is Python that runs before the worker, in its process: to plant what a machine may lack.
        parent is the descriptor of a process that forks the worker (PARENT); None: the worker imports torch
        itself."""
        ours, theirs = socket.socketpair()
        memory_fd = os.memfd_create("tensors")
        os.ftruncate(memory_fd, memory_bytes)
        self.memory = mmap.mmap(memory_fd, memory_bytes)
        self.log_fd = os.memfd_create("log")
        path = str(BRIDGE / script)
        folder = str(BRIDGE / "worker")
        start = (f"import runpy, sys\n{first}\nsys.argv[0] = {path!r}\nsys.path.insert(0, {folder!r})\n"
                 f"runpy.run_path({path!r}, run_name='__main__')")
        program = ["-u", "-X", "faulthandler", *(["-c", start] if first else [path])]
        given = [theirs.fileno(), memory_fd]
        if parent is not None:
            program = ["-I", "-S", str(BRIDGE / "worker/forked.py"), "worker"]
            given.append(parent)

        def place():  # through high numbers: the descriptors may themselves be 3 and 4
            for i, descriptor in enumerate(given):
                os.dup2(descriptor, 100 + i)
            for i in range(len(given)):
                os.dup2(100 + i, 3 + i)
            os.closerange(3 + len(given), 128)
            os.setpgid(0, 0)

        self.process = subprocess.Popen([sys.executable, *program, "--operators", str(operators)],
                                        preexec_fn=place, close_fds=False,
                                        stdin=subprocess.DEVNULL, stdout=self.log_fd, stderr=self.log_fd,
                                        env={"TRIAD_DEVICE": "cpu", **os.environ, **(environment or {})})
        theirs.close()
        os.close(memory_fd)
        self.socket = ours
        self.lines = ours.makefile("rb")
        self.sent = 0
        self.used = 0
        self.greeting = self.ask("hello", {"protocol": 1, "memory_bytes": memory_bytes})

    def ask(self, do: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """Sends one request and gives its result; RuntimeError for an error, Died where no reply comes."""
        self.sent += 1
        request = {"id": self.sent, "do": do, **({do: arguments} if arguments is not None else {})}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        line = self.lines.readline()
        if not line:
            raise Died(f"worker exited {self.process.wait(timeout=30)}: {self.log()[-2000:]}")
        reply = json.loads(line)
        assert reply["id"] == self.sent, reply
        if reply.get("error"):
            raise RuntimeError(reply["error"])
        return reply["result"]

    def log(self) -> str:
        """What the worker wrote to stdout and stderr."""
        size = os.fstat(self.log_fd).st_size
        return os.pread(self.log_fd, size, 0).decode(errors="replace")

    def close(self) -> None:
        """Ends the worker."""
        self.socket.close()
        self.lines.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.log_fd)

    def reference_to(self, name: str, dtype: torch.dtype, shape, stride=None, start: int = 0, storage: int
                     | None = None) -> dict[str, Any]:
        """Takes space in the shared memory for a tensor."""
        stride = list(stride) if stride is not None else tensors.row_major(shape)
        if storage is None:
            storage = ((start + sum((n - 1) * s for n, s in zip(shape, stride)) + 1 if all(shape) else 0)
                       * dtype.itemsize)
        self.used = -(-self.used // ALIGNMENT) * ALIGNMENT
        ref = {"name": name, "dtype": tensors.NAMES[dtype], "shape": list(shape), "stride": stride,
               "start": start, "offset": self.used, "bytes": storage}
        self.used += storage
        assert self.used <= len(self.memory)
        return ref

    def put(self, name: str, tensor: torch.Tensor) -> dict[str, Any]:
        """Copies the storage behind a tensor into the shared memory, so that its strides and its first
        element stay what they are."""
        storage = tensor.untyped_storage()
        ref = self.reference_to(name, tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset(),
                                storage.nbytes())
        content = (bytes(storage.tolist()) if storage.nbytes() < 64
                   else bytes(memoryview(torch.empty(0, dtype=torch.uint8).set_(storage).numpy())))
        self.memory[ref["offset"]:ref["offset"] + len(content)] = content
        ref["crc32"] = zlib.crc32(content)
        return ref

    def get(self, ref: dict[str, Any]) -> torch.Tensor:
        """Copies a contiguous tensor out of the shared memory."""
        content = bytearray(self.memory[ref["offset"]:ref["offset"] + ref["bytes"]])
        dtype = tensors.DTYPES[ref["dtype"]]
        return (torch.frombuffer(content, dtype=dtype).reshape(ref["shape"]) if content
                else torch.empty(ref["shape"], dtype=dtype))

    def run(self, op: str, name: str, direction: str, inputs: list[torch.Tensor],
            outputs: list[tuple[str, torch.dtype, tuple]],
            launches: str = "ab", sizes_alone: bool = False, order: str = "",
            **attributes) -> tuple[dict[str, Any], list[dict[str, torch.Tensor]]]:
        """Runs one case: gives the reply and, for each launch, the outputs that were copied out."""
        self.used = 0
        kinds = {bool: "bool", int: "int", float: "float", str: "enum"}
        arguments = {
            "op": op, "implementation": name, "pass": direction, "dtype": "", "contract": "",
            "attrs": [{"name": n, "type": kinds[type(v)], "number": 0 if isinstance(v, str) else float(v),
                       "text": str(v)} for n, v in attributes.items()],
            "inputs": [self.put(f"input{i}", t) for i, t in enumerate(inputs)],
            "launches": [{"poison": p, "order": order, "outputs": [self.reference_to(*o) for o in outputs]}
                         for p in launches],
            "sizes_alone": sizes_alone,
        }
        reply = self.ask("run", arguments)
        got = []
        for launch, report in zip(arguments["launches"], reply["launches"]):
            copied = {o["name"] for o in report["outputs"] if o["present"] and "crc32" in o}
            got.append({ref["name"]: self.get(ref) for ref in launch["outputs"] if ref["name"] in copied})
        return reply, got
