"""Problems in the format of FlashInfer Trace: a definition, a file of JSON with axes, inputs and outputs in
their order and a reference in torch with a function run(), and its workloads, a file of JSON lines with the
sizes of the axes that vary. A submission is a file of Python with a function run(), or a solution, a file of
JSON that holds the texts of several files and names the function.

The function gets the inputs in their order. A solution says whether the outputs follow as further arguments
(destination_passing_style, which is the rule) or are returned; of a file of Python the number of parameters
says it.

An imported problem is a folder with problem.json, the definition and its workloads, and an operator file that
takes its names from here (internal/problem writes all three).
"""

from __future__ import annotations

import inspect
import json
import math
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import problem_folder
import problem_sizes
import problem_submission
from problem_devices import On
from problem_submission import dense, own_copies, written
from problem_trial import MOST_ELEMENTS, SEED, Trial, words

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16,
          "float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2, "int64": torch.int64,
          "int32": torch.int32, "int16": torch.int16, "int8": torch.int8, "bool": torch.bool}
"""What the format names, except four bits."""

WORKLOADS = "workloads.jsonl"
"""The name under which the workloads of a definition are kept."""

TOLERANCE, TRIALS = 1e-2, 3
"""Absolute and relative, of the benchmark's defaults: an element is off where it exceeds both."""


class NoDefinition(ValueError):
    """What a definition lacks, in a clause."""


class Definition:
    """A definition, with its workloads and the module of its reference."""

    def __init__(self, text: str, workloads: str, path: str):
        try:
            stated = json.loads(text)
            self.name = stated["name"]
            self.axes = {name: a["value"] if a["type"] == "const" else None
                         for name, a in stated["axes"].items()}
            self.inputs, self.outputs = stated["inputs"], stated["outputs"]
            for name, t in [*self.inputs.items(), *self.outputs.items()]:
                if t["dtype"] not in DTYPES:
                    raise NoDefinition(f"its tensor {name} is of {t['dtype']}, which triad has no name for")
                if unknown := [axis for axis in t["shape"] or () if axis not in self.axes]:
                    raise NoDefinition(f"its tensor {name} has an axis {unknown[0]}, which it does not "
                                       "define")
            self.workloads = [json.loads(line)["workload"] for line in workloads.splitlines()
                              if line.strip()]
        except (KeyError, TypeError, AttributeError) as e:
            raise NoDefinition(f"its definition lacks something: {e}") from e
        except json.JSONDecodeError as e:
            raise NoDefinition(f"it is no JSON: {e}") from e
        self.module = types.ModuleType("triad_problem")
        with On("cpu"):
            exec(compile(stated["reference"], path, "exec"), vars(self.module))
        if not callable(getattr(self.module, "run", None)):
            raise NoDefinition("its reference defines no function run")

    def shape(self, tensor: dict[str, Any], values: dict[str, int]) -> list[int]:
        """The sizes of a tensor that is not a number."""
        return [values[axis] if self.axes[axis] is None else self.axes[axis] for axis in tensor["shape"]]

    def elements(self, values: dict[str, int]) -> int:
        """How many elements the inputs have."""
        return sum(math.prod(self.shape(t, values)) for t in self.inputs.values() if t["shape"] is not None)

    def answer(self, arguments: list) -> tuple[torch.Tensor, ...]:
        """What the reference returns for its arguments."""
        with On(next((t.device for t in arguments if isinstance(t, torch.Tensor)), "cpu")):
            value = self.module.run(*arguments)
        return listed(value, list(self.outputs))

    def drawn(self, values: dict[str, int], random: torch.Generator) -> list[torch.Tensor]:
        """The tensors among the inputs, as the benchmark draws them."""
        return [_drawn(self.shape(t, values), DTYPES[t["dtype"]], random)
                for t in self.inputs.values() if t["shape"] is not None]


def _drawn(shape: list[int], dtype: torch.dtype, random: torch.Generator) -> torch.Tensor:
    """Random elements: normal floats, those of 8 bits between -2 and 2, and integers between limits."""
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=random).bool()
    if not dtype.is_floating_point:
        limit = 128 if dtype == torch.int8 else 1024
        return torch.randint(-limit, limit, shape, generator=random, dtype=dtype)
    t = torch.randn(shape, generator=random)
    return (t.clamp(-2, 2) if dtype.itemsize == 1 else t).to(dtype)


def listed(value: Any, names: list[str]) -> tuple:
    """What a function returned, in the order of the outputs: a tensor, several, or a dictionary of them."""
    if isinstance(value, dict):
        value = tuple(value.get(name) for name in names)
    value = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return tuple(v.reshape(1) if isinstance(v, torch.Tensor) and v.dim() == 0 else v for v in value)


def matches(got: torch.Tensor, want: torch.Tensor) -> bool:
    """Whether the benchmark takes an answer for right."""
    if got.shape != want.shape or got.dtype != want.dtype or not got.isfinite().all():
        return False
    far = (got.float() - want.float()).abs()
    off = (far > TOLERANCE) & (far / (want.float().abs() + 1e-8) > TOLERANCE)
    return not off.any()


class Problem(problem_folder.Folder):
    """A problem that was imported."""

    def __init__(self, folder: str | Path):
        super().__init__(folder)
        self.definition = Definition(self.text, self.texts.get(WORKLOADS, ""), str(self.path))

    def arguments(self, tensors: tuple, attributes: dict[str, Any]) -> list:
        """The arguments of run(), in order."""
        return [tensors[a["input"]] if "input" in a else attributes[a["attribute"]]
                for a in self.plan["arguments"]]

    def reference(self, *tensors: torch.Tensor, **attributes: Any) -> Any:
        """The outputs, computed in the dtype of the tensors."""
        value = self.definition.answer(self.arguments(own_copies(tensors), attributes))
        return value if len(value) > 1 else value[0]

    def draw(self, shapes: list[tuple], attributes: dict[str, Any], seed: int) -> list[torch.Tensor]:
        """The inputs as the benchmark draws them at the sizes of a call."""
        values = self.values(tuple(types.SimpleNamespace(shape=s) for s in shapes), attributes)
        return self.definition.drawn(values, torch.Generator().manual_seed(seed))


class Submission(problem_submission.Submission):
    """The function run of a file, or that of a solution."""

    entry = "run"

    def __init__(self, problem: Problem, path: str):
        self.stated: dict[str, Any] = {}
        super().__init__(problem, path)
        self.function = getattr(self.file, self.entry)
        self.passes_outputs = self._passes_outputs()

    def unpacked(self, path: str) -> str:
        """Of a solution the files."""
        if Path(path).suffix != ".json":
            return path
        definition = self.problem.definition.name
        try:
            found = json.loads(Path(path).read_text(encoding="utf-8"))
            self.stated = found["spec"]
            first, _, self.entry = self.stated["entry_point"].partition("::")
            sources = {str(s["path"]): str(s["content"]) for s in found["sources"]}
            named, language = found["definition"], self.stated["language"]
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            raise ImportError(f"triad: {path}:1: it is no solution: want JSON with definition, spec and "
                              "sources") from e
        if named != definition:
            raise ImportError(f"triad: {path}:1: it is a solution of {named}, and this problem is "
                              f"{definition}")
        if language not in ("python", "triton"):
            raise ImportError(f"triad: not here: a solution of the language {language} is built by "
                              "flashinfer-bench; triad calls those of Python and Triton")
        if first not in sources:
            raise ImportError(f"triad: {path}:1: its entry_point names {first}, which is none of its sources")
        return written(sources, first)

    def missing(self) -> str:
        if not callable(getattr(self.file, self.entry, None)):
            return f"it defines no function {self.entry}, which a submission of FlashInfer Trace has"
        if self._parameters() in self._counts():
            return ""
        inputs, both = self._counts()
        return (f"its function {self.entry} takes {self._parameters()} arguments: want the {inputs} inputs, "
                f"or inputs and outputs, {both}")

    def _counts(self) -> tuple[int, int]:
        """The number of the arguments without and with the outputs."""
        inputs = len(self.problem.plan["arguments"])
        return inputs, inputs + len(self.problem.plan["outputs"])

    def _parameters(self) -> int:
        """How many arguments the function takes by their places. One that takes any number gets what its
        solution says."""
        try:
            found = inspect.signature(getattr(self.file, self.entry)).parameters.values()
        except (TypeError, ValueError):
            found = ()
        if not found or any(p.kind is p.VAR_POSITIONAL for p in found):
            return self._counts()[self.stated.get("destination_passing_style", True)]
        return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in found)

    def _passes_outputs(self) -> bool:
        if self.stated:
            return bool(self.stated.get("destination_passing_style", True))
        return self._parameters() == self._counts()[1]

    def forward(self, *tensors: torch.Tensor, **attributes: Any) -> Any:
        """What the function writes or returns, without gaps."""
        problem, plan = self.problem, self.problem.plan
        arguments = problem.arguments(tensors, attributes)
        if not self.passes_outputs:
            with self.own_file.called():
                value = self.function(*arguments)
            return dense(listed(value, list(problem.definition.outputs)))
        values = problem.values(tensors, attributes)
        outputs = [torch.empty([problem_sizes.value_of(size, values) for size in shape],
                               dtype=DTYPES[dtype], device=tensors[0].device)
                   for shape, dtype in plan["rooms"]]
        with self.own_file.called():
            self.function(*arguments, *outputs)
        return dense(tuple(outputs))


def trials(problem: Problem, device: str) -> tuple[str, Iterator[Trial]]:
    """The calls of the benchmark."""
    definition, plan = problem.definition, problem.plan

    def accepts(got: list, want: list) -> bool:
        return len(got) == len(want) and all(matches(a, b) for a, b in zip(got, want))

    def each() -> Iterator[Trial]:
        random = torch.Generator().manual_seed(SEED)
        for values, numbers in zip(plan["tests"], plan["numbers"]):
            for trial in range(TRIALS):
                if device == "cpu" and definition.elements(values) > MOST_ELEMENTS:
                    continue
                tensors = tuple(definition.drawn(values, random))
                yield Trial(f"{words(values)}, trial {trial + 1}", tensors, numbers, values, accepts)
    return f"{TRIALS} trials of each workload, atol or rtol {TOLERANCE:g}", each()


def submission(folder: str, path: str, name: str) -> list:
    """The rows of an operator file that calls a submission."""
    from implementation import Implementation
    problem = Problem(folder)
    called = Submission(problem, path)
    plan = problem.plan
    return [Implementation(name, called.forward, None, tuple(plan["outputs"]), (), problem.contracts(),
                           tuple(plan["dtypes"]), accepts=called.accepts, nondeterministic=called.varying())]
