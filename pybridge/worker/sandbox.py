"""Limits that a worker sets itself before it meets a user's file: in a sandbox those of internal/sandbox in
Go, everywhere what a traceback may read."""

from __future__ import annotations

import linecache
import os
import resource
import stat

SOURCE_BYTES = 4 << 20  # of the largest file that is read for the lines of a traceback

KINDS = {
    "data": resource.RLIMIT_DATA, "fsize": resource.RLIMIT_FSIZE, "nproc": resource.RLIMIT_NPROC,
    "core": resource.RLIMIT_CORE,
}


def limit_self() -> None:
    """Limits this process and all that it starts, where TRIAD_SANDBOX says how: "data=16,core=0" in bytes,
    processes."""
    for word in filter(None, os.environ.get("TRIAD_SANDBOX", "").split(",")):
        name, _, value = word.partition("=")
        resource.setrlimit(KINDS[name], (int(value), int(value)))


def only_regular_sources() -> None:
    """Has tracebacks read the lines of regular files alone: code may call its file what it likes, and a
    device or a pipe may have no end."""
    read = linecache.updatecache

    def updatecache(filename: str, module_globals: dict | None = None) -> list[str]:
        try:
            info = os.stat(filename)
        except (OSError, ValueError):  # it is no file: a loader may have its lines
            return read(filename, module_globals)
        if not stat.S_ISREG(info.st_mode) or info.st_size > SOURCE_BYTES:
            return []
        return read(filename, module_globals)

    linecache.updatecache = updatecache
