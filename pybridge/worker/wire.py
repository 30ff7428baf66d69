"""The worker's end of the wire: JSON lines on a socket, tensors in shared memory. internal/backend/wire.go
defines the protocol.

It needs only the standard library, so that a worker can report a missing torch.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import signal
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from typing import Any

PROTOCOL = 1
MAX_LINE = 1 << 20
SOCKET_FD = 3
MEMORY_FD = 4
OWN_GROUP = False
"""Whether the process group holds only this worker, though it is not the leader (forked.py)."""


class WireError(Exception):
    """A request that breaks the protocol: the worker ends."""


class NotHere(LookupError):
    """A request for something that this worker has not loaded: an error of the harness, not of a function."""


def _end_with_driver(fd: int) -> None:
    """Ends this process and what it has started once the driver's end of the socket is closed."""
    watched = select.poll()
    watched.register(fd, 0)  # a hang-up is always reported
    if any(seen & select.POLLHUP for _, seen in watched.poll()):
        os.killpg(os.getpgrp(), signal.SIGKILL)


class Channel:
    """The socket: requests in, replies out, ids rising by one from 1."""

    def __init__(self, fd: int = SOCKET_FD):
        os.set_inheritable(fd, False)
        self._socket = socket.socket(fileno=fd)
        self._lines = self._socket.makefile("rb", buffering=1 << 16)
        self._pid = os.getpid()
        if OWN_GROUP or os.getpgrp() == self._pid:  # the driver starts each worker in a group of its own
            threading.Thread(target=_end_with_driver, args=(fd,), daemon=True).start()

    def requests(self) -> Iterator[dict[str, Any]]:
        """Yields the requests until the driver closes its end."""
        want = 1
        while line := self._lines.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE or not line.endswith(b"\n"):
                raise WireError(f"read request {want}: {len(line)} bytes without an end of line, want at "
                                f"most {MAX_LINE}")
            try:
                request = json.loads(line)
            except ValueError as e:
                raise WireError(f"read request {want}: {e}") from e
            if not isinstance(request, dict) or request.get("id") != want:
                raise WireError(f"read request {want}: got {line[:80]!r}")
            yield request
            want += 1

    def waiting(self) -> bool:
        """Reports whether a request, or the end of the socket, can be read. The driver sends a request only
        after the reply to the last."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def reply(self, id: int, result: dict[str, Any] | None = None, error: str = "") -> None:
        """Sends the reply to request id. NaN and infinities must be strings by now."""
        if os.getpid() != self._pid:
            os._exit(1)  # a process that a call forked must not answer
        message = {"id": id, "error": error} if error else {"id": id, "result": result}
        self._socket.sendall(json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n")


class Memory:
    """The shared memory: size bytes, mapped once."""

    def __init__(self, size: int, fd: int = MEMORY_FD):
        os.set_inheritable(fd, False)
        have = os.fstat(fd).st_size
        if not 0 <= size <= have:
            raise WireError(f"map the shared memory: it has {have} bytes, want {size}")
        self.size = size
        self.map = mmap.mmap(fd, size) if size else None

    def view(self, ref: dict[str, Any]) -> memoryview:
        """Returns the storage of a tensor reference."""
        offset, count = ref["offset"], ref["bytes"]
        if not (0 <= offset and 0 <= count and offset + count <= self.size):
            raise WireError(f"tensor {ref['name']}: bytes {offset} to {offset + count} of {self.size} of "
                            "shared memory")
        return memoryview(self.map)[offset:offset + count] if count else memoryview(bytearray())

    def checksum(self, ref: dict[str, Any]) -> int:
        """Returns the crc32 (IEEE) of the storage of a tensor reference."""
        return zlib.crc32(self.view(ref))


def attributes(refs: list[dict[str, Any]] | None) -> dict[str, Any]:
    """Returns the attributes of a request as Python values by name."""
    read: dict[str, Callable[[dict[str, Any]], Any]] = {
        "bool": lambda a: bool(a["number"]), "int": lambda a: int(a["number"]),
        "float": lambda a: float(a["number"]), "enum": lambda a: a["text"],
    }
    return {a["name"]: read[a["type"]](a) for a in refs or []}


def serve(channel: Channel, answer: Callable[[dict[str, Any]], dict[str, Any]],
          idle: Callable[[dict[str, Any], Callable[[], bool]], None]) -> None:
    """Answers requests until `bye`, the end of the socket, or a fatal result. An exception in answer is an
    error of the harness. idle is called after each answer, with the request and a function that reports
    whether another one waits."""
    for request in channel.requests():
        if request["do"] == "bye":
            channel.reply(request["id"], {})
            return
        try:
            result = answer(request)
        except Exception as e:
            channel.reply(request["id"], error=f"{request['do']}: {type(e).__name__}: {e}"[:4000])
            if isinstance(e, WireError):
                raise
            continue
        channel.reply(request["id"], result)
        if result.get("fatal"):
            return
        idle(request, channel.waiting)
