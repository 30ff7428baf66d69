"""Words of the command line: several may stand in one text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Words = str | Sequence[str] | None
"""One word, several, or none: "bf16", ["fp16", "bf16"]; several may stand in one text, "fp16,bf16"."""


def words(value: Words) -> list[str]:
    """The words of a value, commas taken as separators."""
    texts = [] if value is None else [value] if isinstance(value, str) else list(value)
    return [word.strip() for text in texts for word in str(text).split(",") if word.strip()]


def text_of(value: Any) -> str:
    """An attribute's value as the command line writes it: True is "true"."""
    return str(value).lower() if isinstance(value, bool) else str(value)
