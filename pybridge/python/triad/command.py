"""The triad program as a process: start, poll, cancel. Only the program runs kernels and reads the
database."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from triad.errors import DatabaseError, TriadError, Unavailable, UsageError
from triad.words import text_of, words

POLL_S = 0.005
POLL_MOST_S = 0.1


def binary() -> Path:
    """Returns the path of the triad program in this package."""
    path = Path(__file__).parent / "_bin" / "triad"
    if not os.access(path, os.X_OK):
        raise Unavailable(f"{path}: the triad program is not here or not executable: install the package "
                          "again")
    return path


def environment() -> dict[str, str]:
    """Returns the program's environment variables: those of this process, with this virtual environment as
    the active one, so that the workers use its torch."""
    env = dict(os.environ)
    if sys.prefix != sys.base_prefix:
        env.setdefault("VIRTUAL_ENV", sys.prefix)
    return env


def main() -> None:
    """The command `triad` of an installed wheel: this process becomes the program."""
    try:
        os.execve(binary(), ["triad", *sys.argv[1:]], environment())
    except (OSError, Unavailable) as e:
        sys.exit(f"triad: {e}")


class Process:
    """One invocation of the program. Its output goes to files, so that it never waits for us."""

    def __init__(self, arguments: Sequence[str]):
        self.arguments = tuple(arguments)
        self._out, self._err = os.memfd_create("stdout"), os.memfd_create("stderr")
        weakref.finalize(self, lambda *files: [os.close(f) for f in files], self._out, self._err)
        try:
            # In its own session it does not get the terminal's Ctrl-C, which this process passes on once.
            self.process = subprocess.Popen([str(binary()), *self.arguments], stdin=subprocess.DEVNULL,
                                            stdout=self._out, stderr=self._err, env=environment(),
                                            start_new_session=True)
        except OSError as e:
            raise Unavailable(f"start {binary()}: {e}") from e
        _running.add(self)

    def poll(self) -> int | None:
        """Returns the exit code, None while it runs."""
        return self.process.poll()

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the end, in short naps so that Ctrl-C is noticed, and returns the exit code. Raises
        TimeoutError if it takes longer."""
        deadline = None if timeout is None else time.monotonic() + timeout
        nap = POLL_S
        while self.process.poll() is None:
            if deadline is not None and time.monotonic() >= deadline:
                raise TimeoutError(f"triad {self.arguments[0]} is still running after {timeout} s")
            time.sleep(nap)
            nap = min(nap * 1.5, POLL_MOST_S)
        return self.process.returncode

    def interrupt(self) -> None:
        """Asks it to finish what is running and stop; the second time, to stop at once."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def end(self) -> None:
        """Ends it at once, if it still runs; its workers end with it."""
        for stop in (signal.SIGINT, signal.SIGINT, signal.SIGKILL):
            if self.process.poll() is None:
                self.process.send_signal(stop)
                try:
                    self.process.wait(0.2 if stop == signal.SIGINT else None)
                except subprocess.TimeoutExpired:
                    pass

    def output(self) -> str:
        """Returns its stdout so far."""
        return _read(self._out)

    def messages(self) -> list[str]:
        """Returns its messages so far, one sentence or progress line each."""
        return [line.removeprefix("triad: ") for line in _read(self._err).splitlines() if line.strip()]

    def sentence(self) -> str:
        """Returns its last message, the reason of a failure. It may span lines."""
        return _read(self._err).rpartition("triad: ")[2].partition("\nRun 'triad")[0].strip()


_running: weakref.WeakSet[Process] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Ends all processes that were started here, when the interpreter exits."""
    for process in list(_running):
        process.end()


def _read(file: int) -> str:
    return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")


def fail(code: int, sentence: str, otherwise: type[TriadError]) -> None:
    """Raises the error of the program's exit code."""
    raise {2: UsageError, 3: Unavailable}.get(code, otherwise)(sentence
        or f"the triad program ended with {code} and without a message")


def read(arguments: Sequence[str], otherwise: type[TriadError] = DatabaseError) -> tuple[str, list[str]]:
    """Runs a verb that only reads, and returns its output and its messages."""
    process = Process(arguments)
    try:
        code = process.wait()
    finally:
        process.end()
    if code:
        fail(code, process.sentence(), otherwise)
    return process.output(), process.messages()


def flags(values: Mapping[str, Any]) -> list[str]:
    """Returns keywords as flags: None and False are left out, True has no value, a list is joined by commas,
    and a mapping repeats the flag with name=value."""
    out: list[str] = []
    for name, value in values.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(flag)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                out += [flag, f"{key}={text_of(item)}"]
        elif name in ("add", "nvcc_flags"):  # a comma is a part of them
            for item in [value] if isinstance(value, (str, os.PathLike)) else value:
                out += [flag, os.fspath(item)]
        else:
            out += [flag, ",".join(words(value)) if isinstance(value, (str, list, tuple)) else str(value)]
    return out
