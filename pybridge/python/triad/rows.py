"""The rows that a query gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from triad.errors import Unavailable
from triad.html import table

if TYPE_CHECKING:
    import pandas as pd


def pandas() -> Any:
    """pandas, or the sentence that says that it is missing."""
    try:
        import pandas as pd
    except ImportError as e:
        raise Unavailable(f"to_pandas needs pandas ({e}): pip install pandas") from None
    return pd


class Rows(Sequence[dict[str, Any]]):
    """The answer to a query: a dictionary a row. `cut` says in a sentence that there were more, and is ""
    where all are here."""

    def __init__(self, rows: Sequence[dict[str, Any]], cut: str = ""):
        self._rows, self.cut = list(rows), cut

    @property
    def columns(self) -> list[str]:
        """The names of the columns; none are known where there is no row."""
        return list(self._rows[0]) if self._rows else []

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        return Rows(self._rows[index], self.cut) if isinstance(index, slice) else self._rows[index]

    def __str__(self) -> str:
        cells = [self.columns,
                 *([("NULL" if v is None else str(v)) for v in row.values()] for row in self._rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  ".join(f"{c:{w}}" for c, w in zip(row, widths)).rstrip() for row in cells if row]
        return "\n".join(lines + ([self.cut] if self.cut else [])) if self._rows else "no rows"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return table(self.columns, [row.values() for row in self._rows], self.cut)

    def to_pandas(self) -> pd.DataFrame:
        """A data frame of the rows."""
        return pandas().DataFrame(self._rows)
