"""Candidates judged one after the other by processes that stay warm: triad.judge, and triad.Judge for a loop.

A reference and a candidate are functions here or in files, and run in other processes: what travels is their
text, with what it names. triad.judge waits for each verdict; Judge.submit lets several be judged at once.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from triad.command import binary, environment
from triad.errors import InternalError, UsageError
from triad.travelling import text_of_function

Source = str | os.PathLike | Callable

DTYPES = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int64": "i64",
          "int32": "i32", "int8": "i8", "uint8": "u8", "bool": "bool"}


class Judgement(dict):
    """What became of a candidate: the JSON object of `triad judge`, whose members are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __bool__(self) -> bool:
        return self["right"]

    def __repr__(self) -> str:
        return f"{self['verdict']}: {self['message']}" if self["message"] else self["verdict"]


class Judge:
    """A process that judges candidates. With blind no message holds a value of the truth; with no_sandbox
    problems and candidates are trusted, and run without a sandbox."""

    def __init__(self, *, blind: bool = False, lanes: int | None = None, device: str = "auto",
                 offline: bool = False, no_sandbox: bool = False):
        words = ["judge", "--stdin", "--device", device, *(["--blind"] if blind else []),
                 *(["--no-sandbox"] if no_sandbox else []),
                 *(["--lanes", str(lanes)] if lanes else []), "--offline" if offline else "--yes"]
        self._errors = os.memfd_create("stderr")
        self._process = subprocess.Popen([str(binary()), *words], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=self._errors, env=environment(),
                                         start_new_session=True)
        self._waiting: deque[Future] = deque()
        self._lock = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()
        atexit.register(self.close)

    def submit(self, problem: Source, candidate: Source, inputs: Sequence | None = None,
               **options: Any) -> Future:
        """Begins to judge a candidate and gives the future Judgement. See judge() for the arguments."""
        job = _job(problem, candidate, inputs, options)
        future: Future = Future()
        with self._lock:
            if self._process.poll() is not None:
                raise InternalError(self._ended())
            self._waiting.append(future)
            try:
                self._process.stdin.write(json.dumps(job).encode() + b"\n")
                self._process.stdin.flush()
            except BrokenPipeError:
                raise InternalError(self._ended()) from None
        return future

    def judge(self, problem: Source, candidate: Source, inputs: Sequence | None = None,
              **options: Any) -> Judgement:
        """Judges a candidate; see triad.judge."""
        found = self.submit(problem, candidate, inputs, **options).result()
        if found["error"]:
            raise UsageError(found["message"])
        return found

    def close(self) -> None:
        """Ends the process once it has judged what was begun."""
        atexit.unregister(self.close)
        if self._process.poll() is None:
            self._process.stdin.close()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        for line in self._process.stdout:
            self._waiting.popleft().set_result(Judgement(json.loads(line)))
        self._process.wait()
        with self._lock:
            while self._waiting:
                self._waiting.popleft().set_exception(InternalError(self._ended()))

    def _ended(self) -> str:
        said = os.pread(self._errors, os.fstat(self._errors).st_size, 0).decode(errors="replace")
        return "triad judge ended: " + (said.rpartition("triad: ")[2].strip() or "it said nothing")


_judges: dict[tuple, Judge] = {}


def judge(reference: Source, candidate: Source, inputs: Sequence | None = None, *, blind: bool = False,
          device: str = "auto", pass_: str = "forward", level: str = "quick", seed: int | None = None,
          timeout: float | None = None, all: bool = False, given_sizes: bool = False,
          no_sandbox: bool = False) -> Judgement:
    """Judges a candidate, a function or "FILE.py:function", by a reference in torch, and gives the verdict.

    inputs are tensors, or words such as "fp32[64,1000]" and "i64[64]<1000". Their sizes and dtypes count,
    and between which numbers they lie: triad draws values of its own, and other sizes too, unless it is
    meant for given_sizes alone. Instead of a reference with inputs, the path of an imported problem may
    stand, and the candidate is then a submission as its format asks for. timeout limits each call, in
    seconds; with all every case is judged, and not only those up to the first wrong one; with no_sandbox
    both are trusted, and run without a sandbox. The processes stay warm for the next call.
    """
    key = (os.getpid(), blind, device, no_sandbox)
    if key not in _judges or _judges[key]._process.poll() is not None:
        _judges[key] = Judge(blind=blind, device=device, no_sandbox=no_sandbox)
    return _judges[key].judge(reference, candidate, inputs, pass_=pass_, level=level, seed=seed,
                              timeout=timeout, all=all, given_sizes=given_sizes)


def _job(problem: Source, candidate: Source, inputs: Sequence | None, options: Mapping[str, Any]) -> dict:
    job: dict[str, Any] = {"candidate": _source(candidate, "candidate")}
    if inputs is None:
        if callable(problem):
            raise UsageError("a reference needs inputs: tensors, or words such as 'fp32[64,1000]'")
        job["problem"] = os.path.abspath(problem)
    else:
        job["reference"], job["inputs"] = _source(problem, "reference"), [_input(i) for i in inputs]
    names = {"pass_": "pass", "timeout": "timeout_s"}
    for name, value in options.items():
        if name not in ("pass_", "level", "seed", "timeout", "all", "blind", "given_sizes"):
            raise UsageError(f"judge has no keyword {name!r}")
        if value is not None:
            job[names.get(name, name)] = value
    return job


def _source(source: Source, what: str) -> dict[str, str]:
    if callable(source):
        text, name = text_of_function(source, what)
        return {"text": text, "name": name}
    path, colon, name = os.fspath(source).rpartition(":")
    if colon and name.isidentifier():
        return {"file": os.path.abspath(path), "name": name}
    return {"file": os.path.abspath(source)}


_WORD = re.compile(r"([a-z0-9]+)\[([0-9, ]*)\](?:<([0-9]+))?")


def _input(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        found = _WORD.fullmatch(value)
        if not found:
            raise UsageError(f"input {value!r}: want DTYPE[SIZES], such as fp32[64,1000] or i64[64]<1000")
        shape = [int(n) for n in found[2].split(",") if n.strip()]
        limits = {"low": 0, "high": int(found[3])} if found[3] else {}
        return {"shape": shape, "dtype": found[1], **limits}
    shape, dtype = getattr(value, "shape", None), str(getattr(value, "dtype", "")).rpartition(".")[2]
    if shape is None or dtype not in DTYPES:
        raise UsageError(f"input {value!r}: want a tensor of one of {', '.join(DTYPES)}, or a word such as "
                         "'fp32[64,1000]'")
    found = {"shape": [int(n) for n in shape], "dtype": DTYPES[dtype]}
    if dtype == "bool" or 0 in found["shape"]:
        return found
    low, high = float(value.min()), float(value.max())
    if "int" in dtype:
        return {**found, "low": int(low), "high": int(high) + 1}
    return {**found, "low": 0, "high": 1} if low >= 0 and high <= 1 else found
