"""Limits that a worker in a sandbox sets itself before it meets a user's file, as internal/sandbox in Go."""

from __future__ import annotations

import os
import resource

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
