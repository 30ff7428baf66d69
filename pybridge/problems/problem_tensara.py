"""Problems in the format of Tensara: a file def.py with a class of `Problem`, whose `parameters` are those of
`extern "C" void solution(...)` in their order: the arguments of reference_solution(), the outputs, and what
get_extra_params() gives. A submission is a file with that function.

An imported problem is a folder with problem.json, the problem's file, and an operator file that takes its
names from here (internal/problem writes all three). The submission is CUDA, or Python with a function of the
same parameters: internal/ownkernels calls it.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import problem_folder
import problem_recipes
from problem_devices import On
from problem_trial import MOST_ELEMENTS, Trial, test_trials

ENTRY = "solution"
"""The function of a submission."""

DTYPES = {"float": torch.float32, "double": torch.float64, "float16": torch.float16, "int": torch.int32,
          "int32_t": torch.int32, "int64_t": torch.int64, "uint8_t": torch.uint8, "int8_t": torch.int8,
          "uint32_t": torch.uint32, "size_t": torch.int64}
"""What pointers of the format point to. Unsigned integers of 64 bits are no dtype of triad's; a size_t holds
sizes, which are small."""


class Base:
    """What a problem is derived from."""

    parameters: list[dict[str, Any]] = []

    def __init__(self, name: str = "", **_: Any):
        self.name = name

    @staticmethod
    def get_seed(name: str) -> int:
        """A seed that follows from a name."""
        return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little") % (1 << 31)

    def param_dtype(self, i: int) -> torch.dtype:
        """The dtype of a parameter, whose place or name is given."""
        found = self.parameters[i] if isinstance(i, int) else next(
            p for p in self.parameters if p["name"] == i)
        return DTYPES.get(found["type"], torch.float32)


def problem(text: str, path: str) -> Any:
    """The problem of a file."""
    base = types.ModuleType("problem")
    base.Problem = Base
    module = types.ModuleType("triad_problem")
    module.__file__ = path
    sys.modules[module.__name__] = module
    before = sys.modules.get("problem")
    sys.modules["problem"] = base
    try:
        exec(compile(text, path, "exec"), vars(module))
    finally:
        sys.modules.pop("problem")
        if before is not None:
            sys.modules["problem"] = before
    kinds = [kind for kind in vars(module).values()
             if inspect.isclass(kind) and issubclass(kind, Base) and kind is not Base]
    return kinds[-1]()


def answer(found: Any, signature: list, tensors: tuple, values: dict[str, Any]) -> tuple[torch.Tensor, ...]:
    """What reference_solution returns: tensors are the inputs, values the numbers by name."""
    rest, arguments = list(tensors), []
    for name, word in signature:
        if word == "input":
            arguments.append(rest.pop(0).clone())
        elif word == "number":
            arguments.append(values[name])
    with On(tensors[0].device):
        value = found.reference_solution(*arguments)
    value = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return tuple(v.reshape(1) if isinstance(v, torch.Tensor) and v.dim() == 0 else v for v in value)


class Problem(problem_folder.Folder):
    """A problem that was imported."""

    def __init__(self, folder: str | Path):
        super().__init__(folder)
        self.found = problem(self.text, str(self.path))

    def reference(self, *tensors: torch.Tensor, **attributes: Any) -> Any:
        """The outputs, computed in the dtype of the tensors."""
        value = answer(self.found, self.plan["signature"], tensors, self.values(tensors, attributes))
        return value if len(value) > 1 else value[0]

    def draw(self, shapes: list[tuple], attributes: dict[str, Any], seed: int) -> list[torch.Tensor]:
        """The inputs as the problem's tests have them, at the sizes of a call."""
        return problem_recipes.of_a_call(self, shapes, attributes, seed)


def trials(problem: Any, device: str) -> tuple[str, Iterator[Trial]]:
    """The calls of the format's own check."""
    def accepts(got: list, want: list) -> bool:
        several = len(want) > 1
        found = problem.found.verify_result(tuple(want) if several else want[0],
                                            tuple(got) if several else got[0])
        return bool(found[0] if isinstance(found, tuple) else found)

    def each() -> Iterator[Trial]:
        names = [name for name, word in problem.plan["signature"] if word != "output"]
        sample = problem.found.generate_sample()
        samples = sample if isinstance(sample, list) else [sample]
        for case in [*samples, *problem.found.generate_test_cases()]:
            with On("meta"):
                tensors = [t for t in case["create_inputs"]() if hasattr(t, "numel")]
            if sum(t.numel() for t in tensors) <= MOST_ELEMENTS or device != "cpu":
                with On("cpu"):
                    given = [*case["create_inputs"](), *problem.found.get_extra_params(case)]
                yield from test_trials(problem, f"test {case.get('name', '')}", dict(zip(names, given)),
                                       device, lambda _: accepts)
    few = f" of at most {MOST_ELEMENTS} elements" if device == "cpu" else ""
    return f"its sample and tests{few}, verify_result", each()
