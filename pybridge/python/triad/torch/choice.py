"""Which implementation a call takes when it names none, or a family only."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from triad.database import query
from triad.errors import TriadError, Unavailable, UsageError

TIMED = """
    select c.pass, i.name, c.dims_json, c.attributes_json, t.median_ns, t.backward
    from timing t join run r using (run_id) join test_case c using (case_id)
         join implementation i using (implementation_id)
      join session e on e.session_id = r.session_id join machine m using (machine_id)
    where c.op = ? and c.dtype = ? and c.layout = 'contiguous' and m.gpu = ? and t.regime in ('cold', 'warm')
      and r.status in ('PASS', 'WARN') and t.status in ('PASS', 'WARN')
    order by t.regime desc, r.run_ulid"""
"""What passed and was timed, the newest cold timing of a case last."""


def shape_class(dims: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Sizes up to a factor of two: cases of one class are assumed to have the same fastest implementation."""
    return tuple(sorted((name, int(size).bit_length()) for name, size in dims.items()))


@functools.cache
def _measured(op: str, dtype: str, gpu: str) -> dict[tuple, dict[tuple[str, str], float]]:
    """Nanoseconds by (pass, implementation), by the dims and attributes of the case, from this user's
    database; none where there is none. A backward that was timed alone, through a retained graph, runs its
    forward again here: its forward's time is added."""
    try:
        rows = query(TIMED, [op, dtype, gpu], deadline="10s")
    except TriadError:
        return {}
    cases: dict[tuple, dict[tuple[str, str], float]] = {}
    alone: set[tuple[tuple, str]] = set()
    for r in rows:
        case = tuple(tuple(sorted(json.loads(r[part]).items())) for part in ("dims_json", "attributes_json"))
        cases.setdefault(case, {})[r["pass"], r["name"]] = r["median_ns"]
        if r["pass"] == "backward":
            (alone.add if r["backward"] == "retained graph" else alone.discard)((case, r["name"]))
    for case, name in alone:
        cases[case]["backward", name] += cases[case].get(("forward", name), 0.0)
    return cases


def fastest(op: str, dtype: str, dims: Mapping[str, int] | None, attributes: Mapping[str, Any], gpu: str,
            usable: Mapping[str, Sequence[tuple[str, str]]]) -> list[str]:
    """The usable implementations by speed, as timed on the case of this class whose sizes are nearest; empty
    where none was timed. Dims that are not known (None) are any. `usable` has the (pass, implementation) that
    a call by a name runs; those whose every pass was timed come first."""
    wanted = None if dims is None else shape_class(dims)

    def apart(case: tuple) -> float:
        return (sum(abs(math.log2(max(size, 1) / max(dims[name], 1))) for name, size in case[0])
                if dims else 0.0)

    def fits(case: tuple) -> bool:
        return wanted in (None, shape_class(dict(case[0]))) and all(case_value(attributes[n]) == v for n,
            v in case[1] if n in attributes)
    measured = _measured(op, dtype, gpu)
    for case in sorted(filter(fits, measured), key=apart):
        times = measured[case]
        timed = {name: [times[p] for p in passes if p in times] for name, passes in usable.items()
                 if passes[0] in times}
        if timed:
            return sorted(timed, key=lambda name: (-len(timed[name]), sum(timed[name])))
    return []


def case_value(value: Any) -> str:
    """An attribute as a recorded case has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def within(name: str, family: str) -> bool:
    """Says whether an implementation's name begins with what was asked for: "triton" covers "triton/row"."""
    return not family or name == family or name.startswith(family + "/")


def portable(rows: Mapping[str, Any], family: str, dtype: str, default_contract: str,
             directions: Sequence[str]) -> list[str]:
    """Names by preference: torch's rows under the default contract, torch's others, then Triton's and CUDA's;
    what torch.compile makes comes last, because it compiles at the first call."""
    def takes(name: str) -> bool:
        return all(rows[name if d == "forward" else behind(rows, name, dtype)].outputs(d, dtype)
                   for d in directions)

    def rank(name: str) -> tuple[int, ...]:
        row = rows[name]
        strict = all(row.contract(d, dtype) == default_contract for d in directions)
        return (row.compiled, ("torch", "triton", "cuda").index(name.partition("/")[0]), not strict)
    able = [n for n in rows if within(n, family) and takes(n)]
    return sorted(able, key=rank)


def behind(rows: Mapping[str, Any], name: str, dtype: str) -> str:
    """The implementation whose backward follows the forward of `name`: itself; where it has none, one of its
    family that declares to take its saved tensors, else any of its family: what is saved is the operator's,
    not the implementation's."""
    if rows[name].outputs("backward", dtype):
        return name
    family = name.partition("/")[0]
    able = [n for n, row in rows.items() if within(n, family) and row.outputs("backward", dtype)]
    return next((n for n in able if rows[n].follows == name), able[0] if able else name)


def refuse(op: str, family: str, dtype: str, names: Sequence[str]) -> Exception:
    """Why nothing can be chosen."""
    if family and not any(within(n, family) for n in names):
        return UsageError(f"{op} has no implementation {family!r}: it has {', '.join(names)}")
    return Unavailable(f"{op}: no implementation{f' {family}' if family else ''} takes {dtype} with a "
                       f"gradient: there are {', '.join(names)}")
