"""Which implementation a call takes when it names none, or a family only."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from triad.errors import TriadError, Unavailable, UsageError

FASTEST = """
    select s.implementation, s.dims_json, s.median_ns
    from speed s join run r using (run_id) join session e using (session_id) join machine m using (machine_id)
    where s.op = ? and s.pass = 'forward' and s.dtype = ? and s.status in ('PASS', 'WARN') and s.timing_status in ('PASS', 'WARN') and m.gpu = ?
    order by s.median_ns"""


def shape_class(dims: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Sizes up to a factor of two: cases of one class are assumed to have the same fastest implementation."""
    return tuple(sorted((name, int(size).bit_length()) for name, size in dims.items()))


@functools.cache
def _measured(op: str, dtype: str, gpu: str) -> list[tuple[str, tuple, float]]:
    """What passed and was timed on this GPU, in this user's database, fastest first; empty where there is no database."""
    from triad.verbs import query
    try:
        rows = query(FASTEST, [op, dtype, gpu], deadline="10s")
    except TriadError:
        return []
    return [(r["implementation"], shape_class(json.loads(r["dims_json"])), r["median_ns"]) for r in rows]


def fastest(op: str, dtype: str, dims: Mapping[str, int] | None, device: torch.device, family: str, usable: Sequence[str]) -> str:
    """The fastest that passed for such dims, "" where none is known. Dims that are not known (None) are any."""
    if device.type != "cuda":
        return ""
    wanted = None if dims is None else shape_class(dims)
    return next((name for name, of, _ in _measured(op, dtype, torch.cuda.get_device_name(device)) if name in usable and within(name, family) and
                 wanted in (None, of)), "")


def within(name: str, family: str) -> bool:
    """Says whether an implementation's name begins with what was asked for: "triton" covers "triton/row"."""
    return not family or name == family or name.startswith(family + "/")


def portable(rows: Mapping[str, Any], family: str, dtype: str, default_contract: str, directions: Sequence[str]) -> list[str]:
    """Names by preference: torch's rows under the default contract, torch's others, then Triton's and CUDA's; what torch.compile makes comes
    last, because it compiles at the first call."""
    def takes(name: str) -> bool:
        return all(rows[name if d == "forward" else behind(rows, name, dtype)].outputs(d, dtype) for d in directions)

    def rank(name: str) -> tuple[int, ...]:
        row = rows[name]
        strict = all(row.contract(d, dtype) == default_contract for d in directions)
        return (row.compiled, ("torch", "triton", "cuda").index(name.partition("/")[0]), not strict)
    able = [n for n in rows if within(n, family) and takes(n)]
    return sorted(able, key=rank)


def behind(rows: Mapping[str, Any], name: str, dtype: str) -> str:
    """The implementation whose backward follows the forward of `name`: itself; where it has none, one of its family that declares to take
    its saved tensors, else any of its family: what is saved is the operator's, not the implementation's."""
    if rows[name].outputs("backward", dtype):
        return name
    family = name.partition("/")[0]
    able = [n for n, row in rows.items() if within(n, family) and row.outputs("backward", dtype)]
    return next((n for n in able if rows[n].follows == name), able[0] if able else name)


def refuse(op: str, family: str, dtype: str, names: Sequence[str]) -> Exception:
    """Why nothing can be chosen."""
    if family and not any(within(n, family) for n in names):
        return UsageError(f"{op} has no implementation {family!r}: it has {', '.join(names)}")
    return Unavailable(f"{op}: no implementation{f' {family}' if family else ''} takes {dtype} with a gradient: there are {', '.join(names)}")
