"""Describes published problems as operators, for `triad import`:

    python -u pybridge/problems/problem_inspect.py

reads a request from each line of stdin, an object of JSON, and prints a line with its answer: the
description, or {"refused": SENTENCE}. A request holds the format, the name of the problem's main file, the
texts of its files by their names, the seconds of processor time that it may take, and, for an audit, to how
many elements the tensors of its own sizes are cut.

The files are foreign. This process imports torch once and runs none of them: a forked child does, whose
prints go nowhere, and which ends with all that it started before the next request is read. Both run in a
sandbox.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, BinaryIO

sys.path.insert(1, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "worker"))
import bridge_folders  # noqa: E402, F401  (puts the folders of the others on sys.path)

import sandbox  # noqa: E402

LONGEST = 1 << 20
"""The maximum size of a description in bytes; internal/problem has the same."""

MOST_MEMORY = 7 << 29
"""Bytes. A shape that needs more raises an error, and is not judged; the sandbox ends a process above a
larger limit."""

WAITING, LONGEST_WAITING = 3, 20
"""How many times as long a problem may take by the clock as by the processor: one that waits, and one that
computes on a processor that others share. internal/describer has the second."""

LEAST_COUNTED = 0.75
"""The share of the limit of processor time that was used where the limit ended a process: the kernel counts
ticks of the clock for it, which are too many on a busy machine."""

LEAST_SHARE = 0.01
"""The share of a processor that a problem uses while it computes."""

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36


class Refused(Exception):
    """Why a problem cannot be imported, in a sentence. constant: its answer does not depend on its inputs."""

    def __init__(self, sentence: str, constant: bool = False):
        super().__init__(sentence)
        self.constant = constant


def line(e: BaseException) -> str:
    """The message of an exception in one line, without the stack of C++ that torch appends."""
    return " ".join(f"{e}".partition("Exception raised from ")[0].split())[:300]


def main() -> None:
    sandbox.limit_self()
    control = ctypes.CDLL(None).prctl
    control(PR_SET_DUMPABLE, 0)  # what a child runs must not reach into this process
    control(PR_SET_CHILD_SUBREAPER, 1)  # so that nothing outlives its request
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    warnings.simplefilter("ignore")
    import problem_describe
    problem_describe.imported_all()
    for request in requests:
        answers.write(_answered(json.loads(request), requests, answers) + b"\n")
        answers.flush()
    os._exit(0)


def _answered(request: dict[str, Any], requests: BinaryIO, answers: BinaryIO) -> bytes:
    """The answer to a request, in one line."""
    folder, before = tempfile.mkdtemp(prefix="problem-"), _spent()
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], request["seconds"]))
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
        for descriptor in (ours, requests.fileno(), answers.fileno()):
            os.close(descriptor)
        with os.fdopen(theirs, "wb") as answer:
            answer.write(json.dumps(_described(request, Path(folder))).encode() + b"\n")
        os._exit(0)  # what the file started does not keep the process
    os.close(theirs)
    try:
        text, why = _read(ours, child, request["seconds"])
    finally:
        os.close(ours)
        status = _ended(child, not why and text.endswith(b"\n"))
        shutil.rmtree(folder, ignore_errors=True)
    signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if signalled == signal.SIGKILL and _spent() - before >= LEAST_COUNTED * request["seconds"]:
        why = why or f"running it took more than {request['seconds']} seconds of processor time"
    elif not why and not text.endswith(b"\n"):
        how = (f"was ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status)
               else f"ended with exit status {os.WEXITSTATUS(status)}")
        why = f"the process that ran it {how}"
    return json.dumps({"refused": why}).encode() if why else text.strip()


def _spent() -> float:
    """The processor seconds of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read(pipe: int, child: int, seconds: float) -> tuple[bytes, str]:
    """The line that a child answers, as far as it came; and why no more of it is read, "" if it ended. The
    processor time is limited by the child itself: here one ends that waits."""
    text, begun, used = b"", time.monotonic(), 0.0
    patience = WAITING * seconds
    until = begun + patience
    while not text.endswith(b"\n"):
        if not select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
            before, used = used, _used(child)
            last = begun + LONGEST_WAITING * seconds
            if used - before < LEAST_SHARE * patience:
                return text, f"it had no answer after {until - begun:.0f} seconds, most of which it waited"
            if until >= last:
                return text, f"it had no answer after {until - begun:.0f} seconds"
            until = min(until + patience, last)
            continue
        if not (more := os.read(pipe, 1 << 16)):
            break
        text += more
        if len(text) > LONGEST:
            return text, f"its description has more than {LONGEST} bytes"
    return text, ""


def _used(pid: int) -> float:
    """The processor seconds of a process that runs."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


def _ended(child: int, answered: bool) -> int:
    """Ends a child and all that it started; its status. One that closed its pipe without an answer may still
    be about to end on its own, and its end is reported."""
    status, until = None, time.monotonic() + (0 if answered else 1)
    while status is None and time.monotonic() < until:
        found, ended = os.waitpid(child, os.WNOHANG)
        if found:
            status = ended
        else:
            time.sleep(0.005)
    while True:  # those whose parents ended have become children of this process
        for pid in _children() or [child]:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            found, ended = os.waitpid(-1, 0)
        except ChildProcessError:
            return status or 0
        if found == child:
            status = ended


def _children() -> list[int]:
    path = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(path).read_text().split()]
    return []


def _described(request: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The description of a problem, or why there is none."""
    try:
        for name, text in request["files"].items():
            (folder / name).write_text(text, encoding="utf-8")
        os.chdir(folder)
        if elements := request.get("elements"):
            import problem_describe
            problem_describe.MOST_CHECKED_ELEMENTS = elements
        import problem_names
        module = importlib.import_module(problem_names.module(request["format"], "problem_describe_"))
        part = (request["part"],) if request.get("part") else ()
        return module.describe(str(folder / request["file"]), *part)
    except Refused as e:
        return {"refused": str(e), "constant": e.constant}
    except (MemoryError, RuntimeError) as e:
        import problem_fills
        return {"refused": problem_fills.reason("reading it", e)}
    except BaseException as e:
        text = line(e)
        return {"refused": f"reading it raised {type(e).__name__}" + (f": {text}" if text else "")}


if __name__ == "__main__":
    sys.modules["problem_inspect"] = sys.modules["__main__"]
    main()
