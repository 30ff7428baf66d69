"""Drawings of what was recorded, as SVG: a notebook shows them, a file keeps them."""

from __future__ import annotations

import os
import tempfile
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from triad.command import flags, read
from triad.database import PathLike
from triad.errors import UsageError
from triad.go import ask
from triad.words import Words, words

KINDS = ("map", "errors", "roofline", "times", "ratios", "history")


class Figure:
    """One drawing: `kind`, `title`, `words` (what it shows) and `svg`, which needs no other file."""

    def __init__(self, kind: str, title: str, words: str, svg: str):
        self.kind, self.title, self.words, self.svg = kind, title, words, svg

    def save(self, path: PathLike) -> Path:
        """Writes the SVG and gives its path."""
        Path(path).write_text(self.svg, encoding="utf-8")
        return Path(path)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<{self.kind}: {self.words}>"


class Figures(Sequence[Figure]):
    """Drawings; a notebook shows them one below the other."""

    def __init__(self, figures: Iterable[Figure]):
        self._figures = list(figures)

    def __len__(self) -> int:
        return len(self._figures)

    def __getitem__(self, index: Any) -> Any:
        return Figures(self._figures[index]) if isinstance(index, slice) else self._figures[index]

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._figures)) or "no drawings"

    def _repr_html_(self) -> str:
        return "".join(f'<p>{image(f)}</p>' for f in self) or "no drawings"


def image(f: Figure) -> str:
    """A drawing as an image of its own, so that its style sheet is not the page's."""
    data = b64encode(f.svg.encode()).decode()
    return f'<img alt="{escape(f.words)}" src="data:image/svg+xml;base64,{data}">'


def wanted(figures: Iterable[Figure], kind: Words) -> Figures:
    """Those of some kinds. UsageError for a kind that there is not."""
    kinds = KINDS if kind is None else words(kind)
    for name in kinds:
        if name not in KINDS:
            raise UsageError(f"kind {name!r}: want {', '.join(KINDS)}")
    return Figures(f for f in figures if f.kind in kinds)


def drawn(lines: Iterable[str]) -> list[Figure]:
    """The drawings of records, which are JSON objects."""
    return [Figure(**f) for f in ask("Figures", "\n".join(lines))]


def plot(subject: str | None = None, *, kind: Words = None, db: PathLike | None = None) -> Figures:
    """The drawings of `triad results plot`: of an operator (the newest run of each implementation on each
    case, with its history), of a session, or of the newest session. kind takes some alone: "times", ["map",
    "roofline"]; those that nothing was recorded for, such as times without a GPU, are left out."""
    wanted((), kind)
    with tempfile.TemporaryDirectory() as folder:
        options = {"output": folder, "db": None if db is None else os.fspath(db)}
        names, _ = read(["results", "plot", *flags(options), "--", *([] if subject is None else [subject])])
        return wanted((_read(line.partition(": ")[0]) for line in names.splitlines()), kind)


def _read(path: str) -> Figure:
    svg = Path(path).read_text(encoding="utf-8")
    parts = {child.tag.rpartition("}")[2]: child.text or "" for child in ElementTree.fromstring(svg)}
    return Figure(Path(path).stem.rsplit("-", 2)[1], parts["title"], parts["desc"], svg)
