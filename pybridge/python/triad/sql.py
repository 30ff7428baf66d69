"""Parameters of SQL: the triad program takes one statement as text, so values are written into it as
literals."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from triad.errors import UsageError

# What is no parameter although it looks like one: text, quoted names and comments, each as a whole.
_PARTS = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/|(?P<mark>\?|[:@$][A-Za-z_]\w*)""",
    re.DOTALL)


def literal(value: Any) -> str:
    """A value as an SQL literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(int(value))
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):  # a NumPy scalar
        value = value.item()
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 63:
            raise UsageError(f"SQL parameter {value}: want an integer of 64 bits")
        return str(value)
    if isinstance(value, float):
        if math.isnan(value):
            return "NULL"
        return repr(value) if math.isfinite(value) else "9e999" if value > 0 else "-9e999"
    if isinstance(value, str):
        if "\0" in value:
            raise UsageError("SQL parameter: text with a NUL character")
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (bytes, bytearray)):
        return f"x'{bytes(value).hex()}'"
    raise UsageError(f"SQL parameter of type {type(value).__name__}: want None, bool, int, float, str "
                     "or bytes")


def bind(sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None) -> str:
    """The statement with its parameters: ? takes the next of a sequence, :name one of a mapping. UsageError
    where they do not match."""
    if parameters is None:
        return sql
    if isinstance(parameters, (str, bytes)):
        raise UsageError("SQL parameters: want a list or a dict, not a single text")
    named = isinstance(parameters, Mapping)
    used: set[Any] = set()

    def put(match: re.Match[str]) -> str:
        mark = match["mark"]
        if mark is None:
            return match[0]
        key = mark[1:] if named else len(used)
        if (mark == "?") == named or (key not in parameters if named else key >= len(parameters)):
            raise UsageError(f"SQL parameter {mark}: no value for it in {parameters!r}")
        used.add(key)
        return literal(parameters[key])

    text = _PARTS.sub(put, sql)
    if len(used) != len(parameters):
        raise UsageError(f"{len(parameters)} SQL parameters, {len(used)} of them used")
    return text
