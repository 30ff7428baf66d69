"""The exceptions of triad. Each carries the sentence that the command line prints."""

from __future__ import annotations


class TriadError(Exception):
    """What triad raises: every other exception here is one."""


class UsageError(TriadError, ValueError):
    """Invalid usage: an unknown operator, dtype, dim or flag. The command line would exit with 2."""


class Unavailable(TriadError, RuntimeError):
    """What is needed is not here: the triad program, a compiler, a GPU, an optional package, the native part
    of this Python's version."""


class DatabaseError(TriadError):
    """The database cannot be read as asked: it is missing, the SQL writes, the statement takes too long."""


class InternalError(TriadError):
    """A mistake of triad's own; the text holds where. No panic of Go ends the interpreter: it becomes
    this."""


class ForkError(TriadError, RuntimeError):
    """A call into Go in a forked process, where Go's threads are missing: start worker processes by
    "spawn"."""


def refusal(implementation: str, why: str, direction: str = "forward") -> UsageError:
    """The one form of what an implementation declines: "softmax/cuda/vec: cols 9 is not a multiple of 4",
    "softmax/cuda/vec backward: ...". It is the sentence that a comparison gives with UNSUPPORTED, in which
    kernels may have named themselves."""
    op, _, name = implementation.partition("/")
    for prefix in (f"{implementation} {direction}: ", f"{implementation}: ", f"{op}: ", f"{name}: "):
        why = why.removeprefix(prefix)
    return UsageError(f"{implementation}{' backward' * (direction == 'backward')}: {why}")
