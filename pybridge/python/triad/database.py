"""The database of results: where it is, and what SQL reads of it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from triad.command import flags, read
from triad.errors import DatabaseError, UsageError
from triad.rows import Rows
from triad.sql import bind

PathLike = str | os.PathLike[str]


def query(sql: str, params: Sequence[Any] | Mapping[str, Any] | None = None, *, rows: int = 10_000,
          deadline: str = "2s", db: PathLike | None = None) -> Rows:
    """One read-only SQL statement: ? in it takes the next of params, :name one of a mapping. It can read and
    nothing else; DatabaseError for what writes, takes too long or does not parse. Views: latest, history,
    disagreements, speed."""
    options = {"rows": int(rows), "deadline": deadline, "db": None if db is None else os.fspath(db)}
    try:
        output, remarks = read(["results", "query", "--json", *flags(options), "--", bind(sql, params)])
    except UsageError as e:
        if str(e).startswith("query: "):  # the statement's fault, not a keyword's
            raise DatabaseError(str(e)) from None
        raise
    return Rows([json.loads(line) for line in output.splitlines()], remarks[-1] if remarks else "")


def default_database() -> Path:
    """The database that is used where none is named."""
    if named := os.environ.get("TRIAD_DB"):
        return Path(named)
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base if os.path.isabs(base) else os.path.expanduser("~/.local/share"))
            / "triad" / "results.db")
