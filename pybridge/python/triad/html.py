"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

COLOURS = {"good": "#2e7d32", "neutral": "#8d6e00", "bad": "#c62828"}


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "",
          weights: Mapping[str, str] | None = None) -> str:
    """An HTML table. A cell whose text is a key of weights gets the colour of its weight."""
    def cell(value: Any) -> str:
        text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
        colour = COLOURS.get((weights or {}).get(text, ""))
        style = f' style="color:{colour};font-weight:600"' if colour else ""
        return f"<td{style}>{escape(text)}</td>"
    head = "".join(f"<th>{escape(c)}</th>" for c in columns)
    body = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
