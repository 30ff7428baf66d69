"""A comparison in the background, and what Ctrl-C makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from triad.command import Process, fail
from triad.database import default_database
from triad.errors import TriadError
from triad.records import Comparison

KILL_AFTER_S = 20.0
"""How long a cancelled run may take to end its workers before it is killed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a run. What was finished is recorded, and in `results`."""

    results: Comparison

    def __init__(self, results: Comparison):
        super().__init__(f"stopped after {len(results)} records; the same call with resume=True finishes "
                         "the run")
        self.results = results


class Run:
    """A comparison that was started: `poll`, `cancel`, `wait`. Every record is stored as soon as it is
    there."""

    def __init__(self, arguments: Sequence[str], database: str):
        self._process = Process(arguments)
        self._database = database
        self._comparison: Comparison | None = None
        self._cancelled = False

    @property
    def command(self) -> tuple[str, ...]:
        """The command line, without the name of the program."""
        return self._process.arguments

    def poll(self) -> int | None:
        """The exit code (see docs/architecture.md), None while it runs."""
        return self._process.poll()

    def progress(self) -> str:
        """The last line that it said."""
        return next(iter(reversed(self._process.messages())), "")

    def cancel(self) -> None:
        """Asks it to finish what is running and stop; a second call stops it at once. What is done stays
        recorded: wait gives it."""
        self._cancelled = self._cancelled or self.poll() is None
        self._process.interrupt()

    def wait(self, timeout: float | None = None) -> Comparison:
        """Waits for the end and gives what was found. Ctrl-C stops the run, waits for the case that is
        running (a second one does not), and raises Interrupted, which holds what was done. TimeoutError
        leaves it running."""
        try:
            code = self._process.wait(timeout)
        except KeyboardInterrupt:
            self._stop()
            raise Interrupted(self._read(self._process.process.returncode)) from None
        return self._read(code)

    def _stop(self) -> None:
        try:
            self.cancel()
            self._process.wait(KILL_AFTER_S)
        except (KeyboardInterrupt, TimeoutError):
            self._process.end()

    def _read(self, code: int) -> Comparison:
        if self._comparison is None:
            output = self._process.output()
            if code == 2 or code and not output.strip() and not self._cancelled:
                fail(code, self._process.sentence(), TriadError)
            stopped = ("The run was stopped before its plan was done: the same call with resume=True "
                       "finishes it.")
            reason = stopped if self._cancelled and code else ""
            self._comparison = Comparison(output, code, self._database, self._database
                                          or str(default_database()), reason)
        return self._comparison

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.end()

    def __repr__(self) -> str:
        code = self.poll()
        state = self.progress() or "running" if code is None else f"ended with {code}"
        return f"<triad {' '.join(self.command)}: {state}>"
