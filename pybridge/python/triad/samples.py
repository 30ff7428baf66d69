"""Statistics of samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from triad.codecs import numpy
from triad.errors import UsageError
from triad.go import ask


@dataclass(frozen=True)
class Summary:
    """Samples in a few numbers, in their own unit, no distribution assumed. low and high hold the true median
    between them with 95 % confidence from six samples on; fewer give their extremes and an infinite
    half_width, which is a share of the median."""

    n: int
    median: float
    low: float
    high: float
    least: float
    p10: float
    p90: float
    half_width: float

    def __str__(self) -> str:
        return f"{self.median:.6g} [{self.low:.6g}, {self.high:.6g}] of {self.n} samples"


def summarize(samples: Any) -> Summary:
    """Median, its confidence interval and percentiles of positive finite numbers, such as times."""
    array = numpy().ascontiguousarray(samples, dtype="<f8")
    if array.ndim != 1:
        raise UsageError(f"summarize an array of shape {list(array.shape)}: want one dimension")
    found = ask("Summarize", array.ctypes.data, array.size)
    return Summary(**{name: float(v) if name == "half_width" else v for name, v in found.items()})
