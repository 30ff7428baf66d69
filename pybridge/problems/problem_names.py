"""The names that a problem's tensors, sizes and numbers have in the spec of its operator."""

from __future__ import annotations

import keyword
import re

RESERVED = {"all", "quick", "device", "size", "ceildiv", "min", "max", "sqrt",
            "break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "for",
            "func", "go", "goto", "if", "import", "interface", "map", "package", "range", "return", "select",
            "struct", "switch", "type", "var"}
"""Names that a spec cannot have."""


def module(name: str, what: str = "problem_") -> str:
    """The module of a format: internal/problem has the same."""
    return what + name.replace("-", "_")


class Names:
    """Names of a spec, each once."""

    def __init__(self) -> None:
        self.taken: set[str] = set()

    def take(self, wanted: str) -> str:
        name = re.sub(r"[^a-z0-9_]+", "_", wanted.lower()).strip("_") or "value"
        if not name[0].isalpha():
            name = "n_" + name
        while name in self.taken or name in RESERVED or keyword.iskeyword(name):
            name += "_"
        self.taken.add(name)
        return name
