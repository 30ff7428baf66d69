"""The way into Go: loads the native part at the first call, once, and turns its errors into exceptions."""

from __future__ import annotations

import gc
import json
import os
import threading
from typing import Any

from triad.errors import ForkError, InternalError, TriadError, Unavailable, UsageError

_KINDS: dict[str, type[TriadError]] = {"usage": UsageError, "internal": InternalError}
_lock = threading.Lock()
_native: Any = None


def native() -> Any:
    """The module that gopy made. Its functions raise RuntimeError: use call."""
    global _native
    if _native is None:
        with _lock:
            if _native is None:
                try:
                    from triad._native import native as loaded
                except ImportError as e:
                    raise Unavailable(f"load triad's native part: {e}: this package was built for another "
                                      "Python or platform; install it for this one") from e
                # gopy's module asks for a collection of Go's heap at every collection of Python's:
                # milliseconds each, for the few strings that pass here. Go collects by itself.
                gc.callbacks[:] = [c for c in gc.callbacks
                                   if not getattr(c, "__module__", "").startswith("triad._native")]
                _native = loaded
                os.register_at_fork(after_in_child=_forked)
    return _native


def _forked() -> None:
    global _native
    _native = _Forked()


class _Forked:
    """What stands for the native part in a forked child."""

    def __getattr__(self, name: str) -> Any:
        raise ForkError(f"call {name} in a forked process: Go's threads stayed in the parent; start worker "
                        "processes by \"spawn\" "
                        "(multiprocessing.get_context(\"spawn\"), "
                        "DataLoader(multiprocessing_context=\"spawn\"))")


def call(name: str, *arguments: Any) -> Any:
    """Calls a function of pybridge/native. The GIL is released while it runs."""
    function = getattr(_native if _native is not None else native(), name)
    try:
        return function(*arguments)
    except RuntimeError as e:
        kind, _, sentence = str(e).partition(": ")
        if isinstance(e, TriadError):
            raise
        raise _KINDS.get(kind, InternalError)(sentence if kind in _KINDS else str(e)) from None


def ask(name: str, *arguments: Any) -> Any:
    """call, for a function whose result is JSON."""
    return json.loads(call(name, *arguments))
