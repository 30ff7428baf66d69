"""Streams and events of a GPU that is not here. Work is done at once, on whatever stream; they note which
streams have work that nothing has waited for: on a GPU whoever uses a result of it reads it too early."""

from __future__ import annotations

from typing import Any

import torch


class _Object:
    """What streams, events and devices have in common."""

    cuda_stream = 0
    device_index = 0

    def __init__(self, *_: Any, **__: Any):
        self.device = torch.device("cuda", 0)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def query(self) -> bool:
        self.synchronize()
        return True

    def synchronize(self, *_: Any) -> None:
        return None


class Device(_Object):
    """A context in which a device is the current one."""


class Stream(_Object):
    """A stream; torch.cuda.stream(s) and `with s` make it the current one."""

    def __enter__(self) -> Stream:
        _entered.append(self)
        _open[self] = None
        return self

    def __exit__(self, *_: Any) -> None:
        _entered.pop()

    def synchronize(self, *_: Any) -> None:
        _open.pop(self, None)

    def wait_stream(self, other: Any) -> None:
        """What comes on this stream comes after the work of the other."""
        if other in _open:
            del _open[other]
            if self is not DEFAULT:
                _open[self] = None

    def wait_event(self, event: Any) -> None:
        self.wait_stream(event.of)

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event


class Event(_Object):
    """An event. Its times are shown nowhere."""

    of: Stream | None = None
    """The stream whose work it marks the end of."""

    def record(self, stream: Stream | None = None) -> None:
        self.of = stream or current()

    def wait(self, stream: Stream | None = None) -> None:
        (stream or current()).wait_event(self)

    def synchronize(self, *_: Any) -> None:
        _open.pop(self.of, None)

    def elapsed_time(self, _: Any) -> float:
        return 1.0  # milliseconds


DEFAULT = Stream()
_entered: list[Stream] = []
_open: dict[Any, None] = {}


def current(*_: Any) -> Stream:
    """The stream that work goes to."""
    return _entered[-1] if _entered else DEFAULT


def entered(stream: Stream | None) -> Any:
    """torch.cuda.stream(stream): nothing changes for None."""
    return stream if isinstance(stream, Stream) else Device()


def synchronized(*_: Any, **__: Any) -> None:
    """torch.cuda.synchronize()."""
    _open.clear()


def host_waits() -> None:
    """The host waits for the current stream, as for a value."""
    _open.pop(current(), None)


def begin() -> None:
    """Begins a call: no stream has work."""
    _open.clear()
    _entered.clear()


def unawaited() -> str:
    """What a call that ended left to be waited for, in one clause; "" where it left nothing."""
    _open.pop(DEFAULT, None)
    return "left work on a stream of its own that nothing waits for" if _open else ""
