"""Which cases a run of the tests asks: the rule of internal/need/tier.go for the suites in Python."""

from __future__ import annotations

import os
import unittest
from pathlib import Path

WEEK = 7
ROOT = Path(__file__).resolve().parents[2]
LONG = os.environ.get("TRIAD_TEST_TIER") == "long"
"""Whether every case runs."""


def changed() -> list[str]:
    """The paths from the repository's root that changed, "." where everything may have."""
    path = os.environ.get("TRIAD_TEST_CHANGED")
    return Path(path).read_text().splitlines() if path else []


def share(name: str) -> int:
    """FNV-1a of 32 bits: the same number for the same case on every machine."""
    h = 2166136261
    for byte in name.encode():
        h = (h ^ byte) * 16777619 & 0xFFFFFFFF
    return h


def within(path: str, given: str) -> bool:
    """Whether a path is an input or lies in it, outside of its folders of test data."""
    return path == given or path.startswith(given + "/") and "/testdata/" not in path[len(given):]


def parts(name: str) -> int:
    """In how many parts the cases of a suite rotate, of which a day runs one: a seventh, or what the table of
    parts says."""
    for line in (ROOT / ".ci/parts").read_text().splitlines():
        words = line.partition("#")[0].split()
        if words[:2] == ["pybridge", name.replace(" ", "_")]:
            return int(words[2])
    return WEEK


class Suite:
    """The cases of one test. A suite runs the first case of each key, those with an input that changed and
    the day's share; the long tier runs all."""

    def __init__(self, name: str, *inputs: str):
        """name tells this suite from others; inputs are paths from the repository's root."""
        self.name, self.inputs = name, inputs
        self.taken: dict[str, str] = {}
        self.day = int(os.environ.get("TRIAD_TEST_DAY") or -1)
        self.changed = changed()
        self.parts = parts(name) if self.day >= 0 else WEEK

    def covers(self, case: str, key: str, *inputs: str) -> bool:
        """Whether a case runs. An empty key is never in the fast tier."""
        if key and self.taken.setdefault(key, case) == case or LONG:
            return True
        for path in self.changed:
            if path == "." or any(within(path, i) for i in (*self.inputs, *inputs)):
                return True
        return self.day >= 0 and share(f"{self.name} {case}") % self.parts == self.day % self.parts

    def ask(self, test: unittest.TestCase, key: str, *inputs: str) -> None:
        """Skips a test that this run leaves out, with the reason by which internal/need knows it."""
        name = test.id().rpartition(".")[2]
        if not self.covers(name, key, *inputs):
            test.skipTest("the long tier runs it: "
                          + (f"{self.taken[key]} covers {key}" if key else "seconds for it alone"))


def operator(name: str) -> tuple[str, ...]:
    """The inputs that the rooms of an operator are."""
    return (f"internal/catalog/{name}", f"cuda/kernels/{name}.cu", f"cuda/kernels/{name}",
            f"triton/{name}.py")
