"""triad in Python: is this GPU kernel right, for every shape and dtype?

    import triad

    triad.ops()                                               every operator of the catalogue
    triad.compare("softmax", impl="cuda", dtype="bf16", dims={"rows": 8, "cols": 1000})
    triad.gradcheck("layernorm", quick=True)
    triad.judge(reference, candidate, ["fp32[64,1000]"])      one candidate for one problem, processes warm
    triad.results(op="softmax", since="2h")                   what was recorded; .plot() draws it
    triad.plot("softmax", kind="times")                       the drawings of a report
    triad.query("select op, impl, status from latest")        one read-only SQL statement
    from triad.torch import ops                               the kernels as PyTorch operators

What runs a kernel or reads the database is the `triad` program that this package brings along, a process of
its own; specs, cases, codecs and statistics are computed in this one. Importing triad imports neither: both
are loaded by the first call that needs them, and torch only by triad.torch. Go does not survive a fork: start
worker processes by "spawn" (a call in a forked child raises ForkError).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from triad._version import version as __version__

_PLACES = {
    "catalog": ("Operator", "Case", "Plan", "TensorType", "ops", "op", "cases", "case",
                "contracts", "statuses"),
    "codecs": ("encode", "decode"),
    "command": ("binary",),
    "database": ("query",),
    "errors": ("TriadError", "UsageError", "Unavailable", "DatabaseError", "InternalError", "ForkError"),
    "figures": ("Figure", "Figures", "plot"),
    "judging": ("Judge", "Judgement", "judge"),
    "records": ("Comparison", "Detail", "Record", "Records", "show"),
    "rows": ("Rows",),
    "run": ("Interrupted", "Run"),
    "samples": ("Summary", "summarize"),
    "verbs": ("compare", "gradcheck", "start", "results"),
}
_PLACE = {name: module for module, names in _PLACES.items() for name in names}

__all__ = ["__version__", *_PLACE]

if TYPE_CHECKING:
    from triad.catalog import Case, Operator, Plan, TensorType, case, cases, contracts, op, ops, statuses
    from triad.codecs import decode, encode
    from triad.command import binary
    from triad.database import query
    from triad.errors import DatabaseError, ForkError, InternalError, TriadError, Unavailable, UsageError
    from triad.figures import Figure, Figures, plot
    from triad.judging import Judge, Judgement, judge
    from triad.records import Comparison, Detail, Record, Records, show
    from triad.rows import Rows
    from triad.run import Interrupted, Run
    from triad.samples import Summary, summarize
    from triad.verbs import compare, gradcheck, results, start


def __getattr__(name: str) -> Any:
    if name not in _PLACE:
        raise AttributeError(f"module triad has no attribute {name!r}")
    value = getattr(import_module(f"triad.{_PLACE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
