"""The verbs of the command line as functions. Keywords are its flags; `pass` and `from` being words of
Python, `pass_` stands for --pass."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from triad.command import flags
from triad.database import PathLike
from triad.errors import UsageError
from triad.records import Comparison, Records, read_records
from triad.run import Run
from triad.travelling import text_of_function
from triad.words import Words

Added = PathLike | Callable[..., Any]
"""A file, or a function of this process."""


def start(op: Words, *, verb: str = "compare", impl: Words = None, dtype: Words = None, pass_: str
          | None = None, dims: Mapping[str, int] | None = None,
          attr: Mapping[str, Any] | None = None, device: str | None = None, gpu: int | None = None,
          quick: bool = False, full: bool = False,
          seed: int | str | None = None, distribution: Words = None, layout: Words = None,
          upstream: Words = None, saved: Words = None,
          limit: Mapping[str, str] | None = None, resume: bool = False, explain: bool = False,
          no_timing: bool = False,
          strict: bool = False, dump: PathLike | None = None, add: Added | Sequence[Added] | None = None,
          map: Mapping[str, str] | None = None, grid: str | None = None, block: str | None = None, shared: str
          | None = None, contract: str | None = None, nvcc_flags: str | Sequence[str] | None = None,
          sandbox: bool = False, offline: bool = False,
          db: PathLike | None = None) -> Run:
    """Starts a comparison in the background and gives a Run: poll, cancel, wait. See compare for the
    keywords; verb is "compare" or "gradcheck"."""
    if verb not in ("compare", "gradcheck"):
        raise UsageError(f"start {verb!r}: want compare or gradcheck")
    if not (op is None or isinstance(op, str) or isinstance(op, Iterable)):
        raise UsageError(f"operator {op!r}: want its name, see triad.ops()")
    names = [op] if isinstance(op, str) else list(op or ())
    for name in names:
        if not isinstance(name, str) or name.startswith("-"):
            raise UsageError(f"operator {name!r}: want its name, see triad.ops()")
    add = _files(add)
    database = "" if db is None else os.fspath(db)
    options = {"impl": impl, "dtype": dtype, "pass": pass_, "dims": dims, "attr": attr, "device": device,
               "gpu": gpu, "quick": quick, "full": full,
               "seed": seed, "distribution": distribution, "layout": layout, "upstream": upstream,
               "saved": saved, "limit": limit, "resume": resume,
               "explain": explain, "no_timing": no_timing, "strict": strict, "dump": None if dump is None
               else os.fspath(dump),
               "add": add, "map": map, "grid": grid, "block": block, "shared": shared,
               "contract": contract,
               "nvcc_flags": nvcc_flags, "sandbox": sandbox, "offline": offline, "db": database or None,
               "yes": not offline}
    return Run([verb, *names, "--json", *flags(options)], database)


def _files(add: Added | Sequence[Added] | None) -> list[PathLike] | None:
    """Returns the files of --add. A function, autograd.Function, Module or Triton kernel is written into one.
    Folders, patterns and lists, which --add also takes, are refused: they give a row for each file and no
    records."""
    if add is None:
        return None
    files = []
    for item in [add] if isinstance(add, (str, os.PathLike)) or _is_code(add) else add:
        if _is_code(item):
            files.append(_file_of(item))
            continue
        text = os.fspath(item)
        if text == "-" or os.path.isdir(text) or not os.path.exists(text) and any(c in text for c in "*?[{"):
            raise UsageError(f"add={text!r}: want a file, or a list of files; a verdict for each file of a "
                             "folder or a pattern: triad compare OP --add in a shell")
        files.append(item)
    return files


def _is_code(item: Any) -> bool:
    return callable(item) or hasattr(item, "fn")  # fn: what Triton makes of a function


def _file_of(code: Any) -> str:
    """Returns a file with a function and the names that it uses, as FILE:NAME. It is kept, so that the run
    can be repeated."""
    text, name = text_of_function(code, "function")
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(caches, "triad", "functions", hashlib.sha256(text.encode()).hexdigest()[:16])
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    return f"{file}:{name}"


def compare(op: Words, **flags: Any) -> Comparison:
    """Runs and judges every implementation of an operator, of several, or of "all", against an fp64 truth,
    and records every result.

    impl          only implementations with these prefixes: "cuda", ["triton/row", "torch"]
    dtype         only these: "bf16"
    dims, attr    sizes and attributes: {"rows": 8, "cols": 1000}, {"causal": True}; what is not named keeps
                  the level's values
    pass_         "forward", "backward" or "both"
    quick, full   at most 13 cases for each operator, dtype and pass; every case
    distribution, layout, upstream, saved    only these kinds of data
    device, gpu   "cpu" or "gpu"; which GPU
    seed          of the inputs: a number or "random"
    explain       keep what there is to say about each output: what its contract promises, the worst elements,
                  how the errors are distributed
    add, map      files of your own to judge too, or functions, autograd.Functions, Modules (the
                  classes) and Triton kernels of this process; and what their parameters stand for
    contract      the one that your files declare: "eager" keeps every step in the dtype
    grid, block, shared, nvcc_flags    for a lone __global__ function how it is launched, and more words for
                                       nvcc
    sandbox       compile and run your files in a sandbox (bubblewrap)
    no_timing     on a GPU: do not time what passed
    strict        count KNOWN as bad: faults of libraries that a documented finding covers
    resume        finish the newest interrupted run of the same request
    dump          a folder that gets inputs, outputs, truth and error bound of every case as safetensors
    limit         deadlines: {"call": "10s"}
    offline, db   fetch nothing; another database

    Ctrl-C stops the run after the current case, keeps what is done, and raises Interrupted with it.
    UsageError, Unavailable and TriadError carry the command line's sentence. A kernel that is wrong is no
    exception: look at the records, or at `ok`.
    """
    return _run("compare", op, flags)


def gradcheck(op: Words, **flags: Any) -> Comparison:
    """Judges every gradient of an operator, of several, or of "all": compare for backwards, with the truth
    proven by the complex step, repeated launches, and each gradient alone. The keywords are compare's."""
    return _run("gradcheck", op, flags)


def _run(verb: str, op: Words, options: dict[str, Any]) -> Comparison:
    unknown = sorted(set(options) - set(start.__kwdefaults__ or {}) | ({"verb"} & set(options)))
    if unknown:
        known = ", ".join(sorted(set(start.__kwdefaults__ or {}) - {"verb"}))
        raise UsageError(f"{verb}: unknown keyword {unknown[0]!r}: want one of {known}")
    with start(op, verb=verb, **options) as run:
        return run.wait()


def results(*, op: Words = None, impl: Words = None, dtype: Words = None, status: Words = None,
            bad: bool = False, pass_: str | None = None,
            since: str | None = None, limit: int = 50, db: PathLike | None = None) -> Records:
    """What was recorded, newest first, at most `limit`; where there is more, `remark` says how much. since is
    a duration ("2h", "7d") or a date ("2026-01-31")."""
    database = "" if db is None else os.fspath(db)
    options = {"op": op, "impl": impl, "dtype": dtype, "status": status, "bad": bad, "pass": pass_,
               "since": since, "limit": int(limit), "db": database or None}
    return read_records(["results", "list", "--json", *flags(options)], database)
