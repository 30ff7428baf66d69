"""Problems in the format of robust-kbench: a folder with func_forward.py and config_forward.json. The first
has `class Model(nn.Module)`, whose forward(*inputs, fn=forward_fn) hands its inputs and weights to fn, and
get_inputs(). The second holds their arguments: input_configs of get_inputs(), init_configs of Model,
shared_configs of both. A submission is a file of Python with forward_fn, or an extension of torch in CUDA
that exports forward; it takes the place of fn.

An imported problem is a folder like those of problem_kernelbench.
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

import problem_kernelbench as kernelbench
from problem_seed import seed_torch
from problem_trial import MOST_ELEMENTS, TRIALS, Trial, attributes_of, tolerance_words, words

CONFIG = "config_forward.json"

TOLERANCE = {"atol": 1e-3, "rtol": 1e-3}
"""Of the format's check."""


class NoTask(ValueError):
    """What a task lacks, in a clause."""


class Task:
    """A task: its module, the arguments of get_inputs and of Model, and the numbers among them."""

    def __init__(self, text: str, config: str, path: str):
        self.text, self.path = text, path
        try:
            stated = json.loads(config)
            given = {which: {**stated[f"single_{which}_configs"][0], **stated["single_shared_configs"][0]}
                     for which in ("input", "init")}
        except (ValueError, KeyError, IndexError, TypeError) as e:
            raise NoTask(f"its {CONFIG} lacks something: {e}") from e
        self.file = kernelbench.execute(text, path, {})
        for name in ("Model", "get_inputs", "forward_fn"):
            if not callable(getattr(self.file, name, None)):
                raise NoTask(f"it defines no {name}, which the format has")
        if "fn" not in inspect.signature(self.file.Model.forward).parameters:
            raise NoTask("the forward of its Model takes no fn, in whose place a submission is called")
        self.arguments = {"input": {**_defaults(self.file.get_inputs), **given["input"]},
                          "init": {**_defaults(self.file.Model.__init__), **given["init"]}}
        self.numbers: dict[str, Any] = {}
        for name in {**self.arguments["input"], **self.arguments["init"]}:
            found = [a[name] for a in self.arguments.values() if name in a]
            if all(type(v) in (int, float) and math.isfinite(v) and v == found[0] for v in found):
                self.numbers[name] = found[0]

    def module(self, values: dict[str, Any]) -> types.ModuleType:
        """The module of a task in the form of a problem of KernelBench, with these values for its numbers."""
        module = types.ModuleType("triad_problem")
        vars(module).update(vars(self.file))
        chosen = {which: {name: values.get(name, value) if name in self.numbers else value
                          for name, value in arguments.items()}
                  for which, arguments in self.arguments.items()}
        get_inputs = self.file.get_inputs
        module.get_inputs = lambda: get_inputs(**chosen["input"])
        module.get_init_inputs = lambda: dict(chosen["init"])
        return module


def _defaults(function: Any) -> dict[str, Any]:
    """The arguments of a function that have a value by default."""
    return {p.name: p.default for p in inspect.signature(function).parameters.values()
            if p.default is not p.empty}


class Problem(kernelbench.Problem):
    """A problem that was imported."""

    def __init__(self, folder: str | Path):
        super().__init__(folder)
        self.task = Task(self.text, self.texts[CONFIG], str(self.path))

    def _execute(self, constants: tuple) -> types.ModuleType:
        return self.task.module(dict(constants))


class _With(torch.nn.Module):
    """A model that calls a function of a submission's."""

    def __init__(self, model: torch.nn.Module, function: Any):
        super().__init__()
        self.model, self.function = model, function

    def forward(self, *inputs: Any) -> Any:
        return self.model(*inputs, fn=self.function)


class Submission(kernelbench.Submission):
    """The function of a file, called by the problem's Model."""

    entry = "forward_fn"

    def load(self) -> Any:
        """The file, of CUDA once it is compiled."""
        if Path(self.path).suffix != ".cu":
            return super().load()
        if not self.on_gpu():
            raise ImportError("triad: not here: torch compiles it, which needs a GPU")
        from torch.utils import cpp_extension
        try:
            return cpp_extension.load("triad_submission", [self.path], verbose=False)
        except Exception as e:
            raise ImportError(f"triad: {self.path}:1: torch cannot compile it: {e}") from e

    def missing(self) -> str:
        if Path(self.path).suffix == ".cu":
            self.entry = "forward"
        if callable(getattr(self.file, self.entry, None)):
            return ""
        return f"it defines no function {self.entry}, which a submission of robust-kbench has"

    def made(self, module: types.ModuleType, seed: int) -> torch.nn.Module:
        """The problem's model, with the submission's function."""
        return _With(kernelbench.make(module, module.Model, seed), getattr(self.file, self.entry))


def trials(problem: Problem, device: str) -> tuple[str, Iterator[Trial]]:
    """The calls of the format's own check."""
    plan = problem.plan
    small = plan["own_elements"] <= MOST_ELEMENTS or device != "cpu"
    chosen = {} if small else plan["checked"]
    values = {**problem.task.numbers, **chosen}
    module = problem.task.module(values)
    seed_torch(kernelbench.SEED)
    seeds = [int(torch.randint(0, 2 ** 32 - 1, (1,)).item()) for _ in range(TRIALS)]

    def accepts(got: list, want: list) -> bool:
        return len(got) == len(want) and all(torch.allclose(a, b, **TOLERANCE) for a, b in zip(got, want))

    def each() -> Iterator[Trial]:
        for i, seed in enumerate(seeds):
            seed_torch(seed)
            inputs = list(module.get_inputs())
            attributes = {**attributes_of(plan, values), "weights_seed": seed - kernelbench.SEED}
            attributes.update({a["attribute"]: inputs[k] for k, a in enumerate(plan["arguments"])
                               if "attribute" in a})
            tensors = tuple(inputs[k].detach() for k, a in enumerate(plan["arguments"]) if "input" in a)
            yield Trial(f"trial {i + 1}", tensors, attributes, values, accepts)
    sizes = "" if small else ", at sizes cut to " + words(
        {n: v for n, v in chosen.items() if n in plan["own"]})
    return (f"{TRIALS} trials from seed {kernelbench.SEED}, {tolerance_words(TOLERANCE)}{sizes}"), each()


def submission(folder: str, path: str, name: str) -> list:
    """The rows of an operator file that calls a submission."""
    problem = Problem(folder)
    called = Submission(problem, path)
    return [problem._row(name, called.forward, accepts=called.accepts, nondeterministic=called.varying())]
