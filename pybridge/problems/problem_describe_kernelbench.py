"""Describes a problem in the format of KernelBench as an operator. Its sizes are constants of the file; how
the shapes of tensors follow from them, executions of the file with other constants show."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import torch

import problem_describe
import problem_kernelbench as kernelbench
import problem_sizes
from problem_fills import reason
from problem_inspect import Refused
from problem_seed import seed_torch
from tensors import NAMES

MOST_WEIGHTS = 1 << 26
"""Elements of the weights with which the problem's own check is asked what it accepts."""


def describe(path: str) -> dict[str, Any]:
    """The description; Refused where there is none."""
    return File(Path(path)).result()


class File(problem_describe.Description):
    """One problem while it is described."""

    can_draw = True

    def begin(self) -> None:
        """Finds the constants of the file."""
        self.tree = self.parsed()
        self.constants = kernelbench.names_of(self.tree)
        loaded = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)
                  and isinstance(n.ctx, ast.Load)}
        self.constants = {n: v for n, v in self.constants.items()
                          if n in loaded or re.sub(r"_\d+$", "", n) in loaded}
        self.modules: dict[tuple, Any] = {}

    # ---- running it

    def nearly_own(self) -> dict[str, int]:
        """Those of the inputs, where the weights are not too large to be made here."""
        values = super().nearly_own()
        with torch.device("meta"), torch.no_grad():
            weights = sum(t.numel() for t in self.model(values, 0).state_dict().values())
        return values if weights <= MOST_WEIGHTS else self.judged

    def module(self, values: dict[str, Any]) -> Any:
        key = tuple(sorted(values.items()))
        if key not in self.modules:
            self.modules[key] = kernelbench.execute(self.text, str(self.path), values)
        return self.modules[key]

    def inputs(self, values: dict[str, Any], seed: int) -> list:
        seed_torch(seed)
        inputs = self.module(values).get_inputs()
        if isinstance(inputs, (dict, torch.Tensor)) or not hasattr(inputs, "__iter__"):
            what = "nothing" if inputs is None else f"a {type(inputs).__name__}"
            raise Refused(f"its get_inputs() returns {what}: want a list of the arguments of forward")
        return list(inputs)

    def model(self, values: dict[str, Any], seed: int) -> torch.nn.Module:
        module = self.module(values)
        return kernelbench.make(module, module.Model, seed)

    def sizes(self, values: dict[str, int]) -> problem_sizes.Sizes:
        """The sizes of inputs and outputs under these constants, without their elements."""
        with torch.device("meta"), torch.no_grad():
            inputs = self.inputs(values, 0)
            for value in inputs:
                if not isinstance(value, torch.Tensor) and type(value) not in (int, float, bool):
                    raise Refused(f"an input is a {type(value).__name__}: problems of tensors and numbers "
                                  "alone are imported")
            outputs = kernelbench.listed(self.model(values, 0)(*inputs))
        return self.sizes_of(inputs, outputs)

    def sizes_of(self, inputs: list, outputs: tuple) -> problem_sizes.Sizes:
        """The sizes of the tensors of a call."""
        found = {}
        for kind, tensors in (("input", inputs), ("output", outputs)):
            for i, t in enumerate(tensors):
                if isinstance(t, torch.Tensor):
                    found[kind, i, -1] = 1  # also of a tensor without axes
                    found.update({(kind, i, axis): n for axis, n in enumerate(t.shape)})
        return found

    def result(self) -> dict[str, Any]:
        self.look()
        own = {n: v for n, v in self.constants.items() if type(v) is int and v > 0}
        try:
            self.probes = problem_sizes.Probes(self.sizes, own)
        except Refused:
            raise
        except Exception as e:
            raise Refused(reason("calling it", e)) from e
        self.moving = problem_sizes.vary(self.probes)
        if self.probes.spent():
            raise Refused("finding out how its sizes follow from its constants takes too long")
        self.probes.begin()
        free, _ = problem_sizes.expressions(self.probes, self.moving)
        for values in problem_sizes.shapes(self.probes, free):
            self.probes.perhaps(values)
        # small sizes tell more about rounded divisions
        self.free, self.expressions = problem_sizes.expressions(self.probes, free)
        self.own = own
        self.tensors()
        return self.finished()

    def look(self) -> None:
        """Executes the file, and looks at what the format asks for."""
        try:
            module = self.module({})
        except Exception as e:
            raise Refused(reason("importing it", e)) from e
        for name in ("Model", "get_inputs"):
            if not hasattr(module, name):
                raise Refused(f"it defines no {name}, which the format has")
        needed = [p.name for p in inspect.signature(module.Model.forward).parameters.values()
                  if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][1:]
        try:
            with torch.device("meta"):
                given = len(self.inputs({}, 0))
        except Refused:
            raise
        except Exception:  # the first call says what is wrong
            return
        if given < len(needed):
            missing = " or ".join(needed[given:])
            raise Refused(f"its get_inputs() gives no {missing}, which its forward takes: only its own check "
                          "draws them")

    def tensors(self) -> None:
        """Names and types of the tensors."""
        forward = inspect.signature(self.module({}).Model.forward)
        named = [p.name for p in forward.parameters.values()
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][1:]
        try:
            inputs, outputs = self.example()
        except Exception as e:
            raise Refused(reason("calling it", e)) from e
        self.arguments, self.input_names, self.scalars = [], [], {}
        self.first: list[torch.Tensor] = []
        for i, value in enumerate(inputs):
            name = self.names.take(named[i] if i < len(named) else f"input_{i}")
            if isinstance(value, torch.Tensor):
                if value.dtype not in NAMES:
                    raise Refused(f"its input {name} is of {value.dtype}, which triad has no name for")
                self.arguments.append({"input": len(self.first)})
                self.input_names.append(name)
                self.first.append(value)
            elif isinstance(value, bool):
                self.arguments.append({"value": value})
            else:
                self.arguments.append({"attribute": name})
                self.scalars[name] = value
        if not self.first:
            raise Refused("none of its inputs is a tensor")
        if not all(isinstance(v, torch.Tensor) and v.dtype in NAMES for v in outputs):
            raise Refused("its forward returns something that is no tensor")
        floats = [t.dtype for t in self.first if t.is_floating_point()]
        self.dtype = self.dtype_of(floats, outputs)
        if self.dtype not in problem_describe.TOLERANCE:
            raise Refused(f"its inputs are of {self.dtype}: want fp32, fp16 or bf16")
        self.outputs = list(outputs)
        self.output_names = [self.names.take("y" if len(outputs) == 1 else f"y{i}")
                             for i in range(len(outputs))]
        # places of tensors among all arguments, as the sizes have them
        self.places = [i for i, a in enumerate(self.arguments) if "input" in a]
        self.dims = {constant: self.names.take(constant) for constant in self.free}
        if not self.free:
            self.dims = {"": self.names.take("n")}

    def example(self) -> tuple[list, tuple]:
        """Arguments and answers, whose elements do not count."""
        with torch.device("meta"), torch.no_grad():
            inputs = self.inputs({}, 0)
            return inputs, kernelbench.listed(self.model({}, 0)(*inputs))

    def dtype_of(self, floats: list[torch.dtype], outputs: tuple) -> torch.dtype:
        """The dtype that the problem is judged in, given those of its inputs of floats."""
        return floats[0] if floats else torch.float32

    def call(self, model: torch.nn.Module, inputs: list) -> list[torch.Tensor]:
        return [v.detach().clone() for v in kernelbench.listed(model(*inputs))]

    def reference(self, model: torch.nn.Module, inputs: list) -> Any:
        """The reference as a function of its tensors."""
        def run(*tensors: torch.Tensor) -> tuple:
            given = list(inputs)
            for i, t in zip(self.places, tensors):
                given[i] = t.clone()
            value = torch.func.functional_call(model, kernelbench.state_like(model, tensors), tuple(given))
            return tuple(kernelbench.listed(value))
        return run
