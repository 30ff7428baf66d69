"""Describes a problem in the format of robust-kbench as an operator. Its sizes are numbers that
config_forward.json gives to get_inputs() and Model, and those that they have by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import problem_describe_kernelbench
import problem_robust_kbench as robust
from problem_fills import reason
from problem_inspect import Refused, line


def describe(path: str) -> dict[str, Any]:
    """The description; Refused where there is none."""
    return _Task(Path(path)).result()


class _Task(problem_describe_kernelbench.File):
    """A task while it is described."""

    def begin(self) -> None:
        self.parsed()
        config = self.path.parent / robust.CONFIG
        try:
            self.task = robust.Task(self.text, config.read_text(encoding="utf-8-sig"), str(self.path))
        except robust.NoTask as e:
            raise Refused(line(e)) from e
        except Exception as e:
            raise Refused(reason("importing it", e)) from e
        self.constants = dict(self.task.numbers)
        self.modules: dict[tuple, Any] = {}

    def module(self, values: dict[str, Any]) -> Any:
        key = tuple(sorted(values.items()))
        if key not in self.modules:
            self.modules[key] = self.task.module(values)
        return self.modules[key]

    def inputs(self, values: dict[str, Any], seed: int) -> list:
        return [t.detach() if hasattr(t, "detach") else t for t in super().inputs(values, seed)]

    def their_check(self) -> dict[str, float]:
        return robust.TOLERANCE
