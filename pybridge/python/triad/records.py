"""What was found, as objects: one record, many, a comparison, one read whole. They print as the command
line's tables do, and render as HTML in a notebook."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from triad.catalog import statuses
from triad.codecs import numpy
from triad.command import flags, read
from triad.database import PathLike, query
from triad.errors import TriadError
from triad.figures import Figures, drawn, wanted
from triad.go import call
from triad.html import table
from triad.rows import pandas
from triad.words import Words

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

SHOWN = 6
"""How many drawings a notebook shows below a table."""

_NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_FIGURES = ("headroom", "ulp_max", "ulp_mean", "absolute_max", "relative_max", "got", "want", "low",
            "high", "a", "b")


def _number(value: Any) -> Any:
    return _NUMBERS.get(value, value) if isinstance(value, str) else value


def _numbers(value: Any) -> Any:
    """The measures of a verdict as floats: JSON carries NaN and infinity as text."""
    if isinstance(value, dict):
        return {k: _number(v) if k in _FIGURES else _numbers(v) for k, v in value.items()}
    return [_numbers(v) for v in value] if isinstance(value, list) else value


class Record(Mapping[str, Any]):
    """One implementation on one case: the fields of docs/json.md, as attributes (`record.status`) and as a
    mapping (`record["pass"]`)."""

    id: str
    session: str
    op: str
    dtype: str
    dims: Mapping[str, int]
    attributes: Mapping[str, str]
    impl: str
    device: str
    status: str
    message: str
    outputs: Sequence[Mapping[str, Any]]
    seed: int

    def __init__(self, line: str, db: str = ""):
        self._line, self._db = line, db
        raw = json.loads(line)
        self._fields: dict[str, Any] = {**raw, "outputs": _numbers(raw.get("outputs") or [])}
        if "explained" in raw:
            self._fields["explained"] = _numbers(raw["explained"])

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("_fields", {})
        if name.rstrip("_") in fields:
            return fields[name.rstrip("_")]
        raise AttributeError(f"a record has no {name!r}: it has {', '.join(fields)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __reduce__(self) -> Any:
        return Record, (self._line, self._db)

    @property
    def headroom(self) -> float | None:
        """The smallest of the outputs: how many times closer to the truth than allowed the worst element
        is."""
        return min((o["headroom"] for o in self.outputs if o["headroom"] is not None), default=None)

    @property
    def ulp_max(self) -> float | None:
        """The largest of the outputs, in units in the last place."""
        return max((o["ulp_max"] for o in self.outputs if o["ulp_max"] is not None), default=None)

    def samples(self) -> dict[str, np.ndarray]:
        """The times that were measured, in ns, by regime; empty where nothing was timed, as always in the
        emulator."""
        rows = query("select t.regime, t.samples_ns_json from timing t join run r using (run_id) where "
                     "r.run_ulid = ?", [self.id], db=self._db or None)
        return {row["regime"]: numpy().array(json.loads(row["samples_ns_json"]), dtype="f8") for row in rows}

    def show(self) -> Detail:
        """Everything about this run: triad.show."""
        return show(self.id, db=self._db or None)

    def __repr__(self) -> str:
        sizes = " ".join(f"{n}={v}" for n, v in {**self.dims, **self.attributes}.items())
        return (f"<{self.status} {self.op}/{self.impl} {self['pass']} {self.dtype} {sizes} "
                f"{self['distribution']} {self.id}>")


class Records(Sequence[Record]):
    """Records, newest first as `triad results list` gives them."""

    columns = ("op", "pass", "impl", "dtype", "dims", "attributes", "layout", "distribution", "status",
               "headroom", "ulp_max", "device", "message", "id")

    def __init__(self, lines: Iterable[str], db: str = "", remark: str = ""):
        self._lines, self._db = [line for line in lines if line.strip()], db
        self.remark = remark
        """A sentence where there are more than these, else "": it stands below the table."""
        self._records = [Record(line, db) for line in self._lines]

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: Any) -> Any:
        return Records(self._lines[index], self._db) if isinstance(index, slice) else self._records[index]

    def __str__(self) -> str:
        return call("ListTable", "\n".join(self._lines)) + (self.remark + "\n" if self.remark else "")

    __repr__ = __str__

    def _rows(self) -> list[list[Any]]:
        def cell(r: Record, name: str) -> Any:
            value = getattr(r, name)
            if name == "id":
                return value[:10]
            return " ".join(f"{n}={v}" for n, v in value.items()) if isinstance(value, dict) else value
        return [[cell(r, name) for name in self.columns] for r in self]

    def _repr_html_(self) -> str:
        return self._table() + self._drawings()

    def _table(self) -> str:
        return table(self.columns, self._rows(), self.remark, weights=statuses())

    def _drawings(self) -> str:
        drawings = self.plot()
        more = (f"<p>{len(drawings) - SHOWN} more drawings: .plot() gives all.</p>"
                if len(drawings) > SHOWN else "")
        return drawings[:SHOWN]._repr_html_() + more if drawings else ""

    def plot(self, kind: Words = None) -> Figures:
        """The drawings of these records, as `triad results plot` makes them: map (where errors of a wrong
        output lie), errors, times and ratios, as far as they were recorded; kind takes some alone. What needs
        more than the records, roofline and history, is drawn by triad.plot."""
        return wanted(drawn(self._lines), kind)

    def to_pandas(self) -> pd.DataFrame:
        """A row a record: its fields, a column for each dim and attribute, the worst of the outputs'
        measures."""
        def row(r: Record) -> dict[str, Any]:
            plain = {k: v for k, v in r.items() if not isinstance(v, (dict, list))}
            return {**plain, **r.dims, **r.attributes, "headroom": r.headroom, "ulp_max": r.ulp_max}
        return pandas().DataFrame([row(r) for r in self])


class Comparison(Records):
    """What `triad compare` or `gradcheck` found. `exit` is what the command line ends with: 0 at least one
    pass and nothing bad, 1 something is wrong, 3 nothing was proven."""

    def __init__(self, output: str, exit: int, db: str = "", database: str = "", reason: str = ""):
        super().__init__(output.splitlines(), db)
        self.exit, self.reason, self._database = exit, reason, database
        self._differences: list[dict[str, Any]] | None = None

    def __reduce__(self) -> Any:
        return Comparison, ("\n".join(self._lines), self.exit, self._db, self._database, self.reason)

    @property
    def ok(self) -> bool:
        """At least one implementation passed and nothing is wrong."""
        return self.exit == 0

    @property
    def session(self) -> str:
        """ULID of the invocation, "" where nothing was run."""
        return self[0].session if len(self) else ""

    @property
    def bad(self) -> list[Record]:
        """The records that count as bad."""
        weights = statuses()
        return [r for r in self if weights.get(r.status) == "bad"]

    @property
    def differences(self) -> list[dict[str, Any]]:
        """How far implementations lie apart: the entries that docs/json.md calls a difference."""
        if self._differences is None:
            self._differences = _differences(self.session, self._db) if self.session else []
        return self._differences

    @property
    def explanation(self) -> str:
        """What explain=True has to say about each output, in words: what its contract promises, the worst
        elements, how the errors are distributed. "" without it. As data: the `explained` of a record."""
        return call("Explain", "\n".join(self._lines)) if any("explained" in r for r in self) else ""

    def __str__(self) -> str:
        try:
            apart = "\n".join(json.dumps(d) for d in self.differences)
        except TriadError:  # the table can do without: the database may be elsewhere by now
            apart = ""
        return self.explanation + call("CompareTable", "\n".join(self._lines), apart, self.exit, self.reason,
                                       self._database)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        meaning = {0: "nothing is wrong", 1: "something is wrong"}.get(self.exit,
            "nothing was proven right or wrong")
        explained = (f"<details><summary>explanation</summary><pre>{escape(self.explanation)}</pre></details>"
                     if self.explanation else "")
        said = f"<p>{len(self)} runs: {escape(meaning)}. {escape(self.reason)}</p>"
        runs = f"<details><summary>runs</summary>{self._table()}</details>"
        return said + _summary(self) + runs + self._drawings() + explained


def _summary(records: Records) -> str:
    """A row for each implementation and pass: in each dtype how many runs are right, wrong, or neither."""
    weights = statuses()
    dtypes = list(dict.fromkeys(r.dtype for r in records))
    groups: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for r in records:
        of = groups.setdefault((r.op, r.impl, r["pass"]), {})
        of.setdefault(r.dtype, []).append(r.status)

    def cell(found: list[str]) -> str:
        wrong = [s for s in found if weights.get(s) == "bad"]
        right = sum(weights.get(s) == "good" for s in found)
        if wrong:
            return f"{wrong[0]} {len(wrong)} of {len(found)}"
        neither = len(found) - right
        return ", ".join([f"PASS {right}"] * (right > 0) + [f"{neither} not judged"] * (neither > 0))
    rows = [[*key, *(cell(of.get(d, [])) for d in dtypes)] for key, of in groups.items()]
    return table(("operator", "implementation", "pass", *dtypes), rows)


def _differences(session: str, db: str) -> list[dict[str, Any]]:
    rows = query("""
        select s.session_ulid, c.case_key, c.op, c.pass, c.dtype, d.output,
               ia.name as impl_a, ib.name as impl_b,
               a.run_ulid as run_a, b.run_ulid as run_b,
               d.n, d.bitwise, d.n_different, d.ulp_max, d.ulp_max_class, d.worst_index_json,
               d.worst_a, d.worst_a_class,
               d.worst_b, d.worst_b_class
        from difference d join run a on a.run_id = d.run_a_id join run b on b.run_id = d.run_b_id
             join session s on s.session_id = a.session_id
             join test_case c on c.case_id = a.case_id
             join implementation ia on ia.implementation_id = a.implementation_id
             join implementation ib on ib.implementation_id = b.implementation_id
        where s.session_ulid = ? order by c.case_id, impl_a, impl_b, d.output""",
                  [session], db=db or None, deadline="30s", rows=1_000_000)

    def number(row: Mapping[str, Any], name: str) -> Any:
        return row[name] if row[f"{name}_class"] in (None, "finite") else row[f"{name}_class"]

    def entry(r: Mapping[str, Any]) -> dict[str, Any]:
        worst = r["worst_index_json"]
        return {"session": r["session_ulid"], "case": r["case_key"], "op": r["op"], "pass": r["pass"],
                "dtype": r["dtype"], "output": r["output"], "a": r["impl_a"],
                "b": r["impl_b"], "run_a": r["run_a"], "run_b": r["run_b"], "n": r["n"],
                "bitwise": bool(r["bitwise"]), "n_different": r["n_different"],
                "ulp_max": number(r, "ulp_max"),
                "worst": {"index": json.loads(worst), "a": number(r, "worst_a"), "b": number(r, "worst_b")}
                if worst else None}
    return [entry(r) for r in rows]


class Detail(Mapping[str, Any]):
    """One run read whole: `run` (a Record), `session`, `command` (which repeats it on the same bits),
    `differences`."""

    def __init__(self, text: str, words: str, db: str = ""):
        self._fields, self._words = json.loads(text), words
        self.run = Record(json.dumps(self._fields["run"]), db)
        self.session: Mapping[str, Any] = self._fields["session"]
        self.command: str = self._fields["command"]
        self.differences: list[dict[str, Any]] = _numbers(self._fields["differences"] or [])

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __str__(self) -> str:
        return self._words

    __repr__ = __str__


def read_records(arguments: Sequence[str], db: str) -> Records:
    """Records that a verb lists."""
    output, remarks = read(arguments)
    more = remarks[-1].replace("--limit shows more", "limit= gives more") if remarks else ""
    return Records(output.splitlines(), db, more)


def show(id: str, *, db: PathLike | None = None) -> Detail:
    """One run read whole. id is a record's id, or the first letters of it."""
    database = flags({"db": None if db is None else os.fspath(db)})
    text, _ = read(["results", "show", "--json", *database, "--", str(id)])
    words, _ = read(["results", "show", *database, "--", str(id)])
    return Detail(text, words, "" if db is None else os.fspath(db))
