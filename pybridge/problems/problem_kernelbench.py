"""Problems in the format of KernelBench: a file with `class Model`, `get_inputs()` and `get_init_inputs()`; a
submission is a file with `class ModelNew`.

Model and ModelNew are made with what get_init_inputs() returns, each right after the generator of random
numbers was given the same seed: so their weights are equal. Then they are called with the inputs. Nothing
else is assumed of either.

The sizes of a problem are constants of its file. To judge other sizes, the file is executed with other values
in the places where it assigns them.

An imported problem is a folder with problem.json, the problem's file, and an operator file that takes its
names from here (internal/problem writes all three).
"""

from __future__ import annotations

import ast
import contextlib
import functools
import math
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import problem_folder
import problem_submission
from problem_seed import seed_torch
from problem_submission import dense, own_copies
from problem_trial import MOST_ELEMENTS, TRIALS, Trial, attributes_of, tolerance_words, words

SEED = 42
"""The seed that the format gives before it makes a model; the attribute weights_seed is added."""


# ---- the file


def names_of(tree: ast.Module) -> dict[str, Any]:
    """The constants that a file assigns at its top level, in their order: numbers computed from literals
    alone. The integers of a tuple shape are shape_0, shape_1 and so on."""
    found: dict[str, Any] = {}
    for name, value in _assigned(tree):
        for known in list(found):
            if known == name or known.startswith(name + "_") and known[len(name) + 1:].isdigit():
                del found[known]  # it is assigned again
        if isinstance(value, (ast.Tuple, ast.List)):
            for i, element in enumerate(value.elts):
                if type(number := _number(element)) is int:
                    found[f"{name}_{i}"] = number
        elif (number := _number(value)) is not None:
            found[name] = number
    return found


def _number(value: ast.expr) -> int | float | None:
    """The value of an expression of numbers alone, None of any other: a switch keeps its value, since an
    attribute of that type is judged with both, and so does an infinity, which no attribute can be."""
    for node in ast.walk(value):
        if isinstance(node, ast.Constant):
            if not isinstance(node.value, (int, float)):
                return None
        elif not isinstance(node, (ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)):
            return None
    try:
        number = eval(compile(ast.Expression(value), "", "eval"), {"__builtins__": {}})
    except ArithmeticError:
        return None
    return number if type(number) is int or type(number) is float and math.isfinite(number) else None


def _assigned(tree: ast.Module):
    """Each name that a statement at the top level assigns, with the expression."""
    for statement in tree.body:
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        elif isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                yield target.id, value
            elif (isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
                  and len(target.elts) == len(value.elts)):
                for t, v in zip(target.elts, value.elts):
                    if isinstance(t, ast.Name):
                        yield t.id, v


class _Replace(ast.NodeTransformer):
    """Assigns other values to the constants of a file."""

    def __init__(self, values: dict[str, Any]):
        self.values = values

    def visit_Module(self, node: ast.Module) -> ast.Module:
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and statement.value is not None:
                targets = [statement.target]
            elif isinstance(statement, ast.Assign):
                targets = statement.targets
            else:
                continue
            for target in targets:
                if isinstance(target, ast.Name):
                    statement.value = self._value(target.id, statement.value)
                elif isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
                    statement.value.elts = [
                        self._value(t.id, v) if isinstance(t, ast.Name) else v
                        for t, v in zip(target.elts, statement.value.elts)]
        return node

    def _value(self, name: str, value: ast.expr) -> ast.expr:
        if name in self.values:
            return ast.copy_location(ast.Constant(self.values[name]), value)
        if isinstance(value, (ast.Tuple, ast.List)):
            value.elts = [self._value(f"{name}_{i}", element) for i, element in enumerate(value.elts)]
        return value


def execute(text: str, path: str, values: dict[str, Any]) -> types.ModuleType:
    """The module of a problem's file, with these values for its constants."""
    tree = ast.fix_missing_locations(_Replace(values).visit(ast.parse(text, path)))
    module = types.ModuleType("triad_problem")
    module.__file__ = path
    sys.modules[module.__name__] = module  # dataclasses look a module up by name
    exec(compile(tree, path, "exec"), vars(module))
    return module


def make(module: types.ModuleType, kind: type, seed: int) -> torch.nn.Module:
    """A model as the format makes it. Its weights are exact, whatever is computed around it."""
    bounded = sys.modules.get("bounded")
    with bounded.Made.paused() if bounded is not None else contextlib.nullcontext():
        seed_torch(seed)
        init = module.get_init_inputs() if hasattr(module, "get_init_inputs") else []
        seed_torch(seed)
        return kind(**init) if isinstance(init, dict) else kind(*init)


def listed(value: Any) -> tuple:
    """What forward returned, as a tuple."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


# ---- an imported problem


class Problem(problem_folder.Folder):
    """A problem that was imported."""

    def __init__(self, folder: str | Path):
        super().__init__(folder)
        self._module = functools.lru_cache(8)(self._execute)
        self._model = functools.lru_cache(8)(self._make)

    def _execute(self, constants: tuple) -> types.ModuleType:
        return execute(self.text, str(self.path), dict(constants))

    def _make(self, constants: tuple, seed: int) -> torch.nn.Module:
        return make(self._module(constants), self._module(constants).Model, seed)

    def constants(self, tensors: tuple, attributes: dict[str, Any]) -> tuple:
        """The constants of the file for a call."""
        return tuple(self.values(tensors, attributes).items())

    def module(self, tensors: tuple, attributes: dict[str, Any]) -> types.ModuleType:
        """The problem's module at the sizes of a call."""
        return self._module(self.constants(tensors, attributes))

    def seed(self, attributes: dict[str, Any]) -> int:
        """The seed of a call's weights."""
        return SEED + int(attributes.get("weights_seed", 0))

    def arguments(self, tensors: tuple, attributes: dict[str, Any]) -> list:
        """The arguments of forward, in order."""
        return [tensors[a["input"]] if "input" in a else attributes[a["attribute"]] if "attribute" in a
                else a["value"] for a in self.plan["arguments"]]

    def reference(self, *tensors: torch.Tensor, **attributes: Any) -> Any:
        """Model's answer, computed in the dtype of the tensors."""
        model = self._model(self.constants(tensors, attributes), self.seed(attributes))
        value = torch.func.functional_call(model, state_like(model, tensors),
                                           tuple(self.arguments(own_copies(tensors), attributes)))
        value = tuple(v.reshape(1) if isinstance(v, torch.Tensor) and v.dim() == 0 else v
                      for v in listed(value))
        return value if len(value) > 1 else value[0]

    def draw(self, shapes: list[tuple], attributes: dict[str, Any], seed: int) -> list[torch.Tensor]:
        """The inputs as the problem draws them at the sizes of a call."""
        module = self.module(tuple(types.SimpleNamespace(shape=s) for s in shapes), attributes)
        seed_torch(seed)
        return [t for t in module.get_inputs() if isinstance(t, torch.Tensor)]

    def rows(self) -> list:
        """The row of the table that shows Model itself, in the dtype of the case."""
        return [self._row("torch/problem", lambda *t, **a: dense(self.reference(*t, **a)))]

    def _row(self, name: str, function: Any, **more: Any) -> Any:
        from implementation import Autograd, Implementation
        plan = self.plan
        backward = None
        if plan["differentiable"]:
            backward = Autograd(function, plan["tensors"], tuple(plan["differentiable"]))
        return Implementation(name, function, backward, tuple(plan["outputs"]), tuple(plan["gradients"]),
                              contract=self.contracts(), dtypes=tuple(plan["dtypes"]),
                              recomputes=True, **more)


def state_like(model: torch.nn.Module, tensors: tuple) -> dict[str, torch.Tensor]:
    """The weights and buffers of a model, copied to where the tensors are, since a call may change buffers;
    in fp64 where the tensors are."""
    bounded = sys.modules.get("bounded")
    like = next((t for t in tensors if isinstance(t, torch.Tensor) and t.is_floating_point()), None)
    wide = bounded is not None and isinstance(like, bounded.Bounded)
    found = {}
    for name, value in [*model.named_parameters(), *model.named_buffers()]:
        value = value.detach()
        if wide and value.is_floating_point():
            found[name] = bounded.exactly(value)
        elif like is not None:
            widened = value.is_floating_point() and like.dtype == torch.float64
            found[name] = value.to(like.device, like.dtype if widened else value.dtype, copy=True)
        else:
            found[name] = value.clone()
    return found


# ---- a submission


class Submission(problem_submission.Submission):
    """The class ModelNew of a file, called as the format calls it."""

    def __init__(self, problem: Problem, path: str):
        self.models: dict[Any, torch.nn.Module] = {}
        super().__init__(problem, path)

    entry = "ModelNew"
    """The name of the class."""

    def missing(self) -> str:
        if isinstance(getattr(self.file, self.entry, None), type):
            return ""
        return f"it defines no class {self.entry}, which a submission of KernelBench has"

    def forward(self, *tensors: torch.Tensor, **attributes: Any) -> Any:
        """ModelNew's answer."""
        constants, seed = self.problem.constants(tensors, attributes), self.problem.seed(attributes)
        key = (constants, seed, tensors[0].device)
        with self.own_file.called():
            if key not in self.models:
                made = self.made(self.problem.module(tensors, attributes), seed)
                self.models[key] = made.to(tensors[0].device)
            return dense(self.models[key](*self.problem.arguments(tensors, attributes)))


    def made(self, module: types.ModuleType, seed: int) -> torch.nn.Module:
        """The submission's model at the sizes of the problem's module."""
        return make(module, getattr(self.file, self.entry), seed)


def trials(problem: Any, device: str) -> tuple[str, Iterator[Trial]]:
    """The calls of the format's own check."""
    plan = problem.plan
    small = plan["own_elements"] <= MOST_ELEMENTS or device != "cpu"
    chosen = {} if small else plan["checked"]
    values = {**names_of(ast.parse(problem.text)), **chosen}
    module = execute(problem.text, str(problem.path), chosen)
    seed_torch(SEED)
    seeds = [int(torch.randint(0, 2 ** 32 - 1, (1,)).item()) for _ in range(TRIALS)]
    tolerance = plan["their_check"]

    def accepts(got: list, want: list) -> bool:
        return len(got) == len(want) and all(
            a.shape == b.shape and torch.allclose(a, b, **tolerance) for a, b in zip(got, want))

    def each() -> Iterator[Trial]:
        for i, seed in enumerate(seeds):
            seed_torch(seed)
            inputs = list(module.get_inputs())
            attributes = attributes_of(plan, values)
            attributes.update({a["attribute"]: inputs[k] for k, a in enumerate(plan["arguments"])
                               if "attribute" in a})
            tensors = tuple(inputs[k] for k, a in enumerate(plan["arguments"]) if "input" in a)
            yield Trial(f"trial {i + 1}", tensors, attributes, values, accepts)
    sizes = "" if small else ", at sizes cut to " + words(
        {n: v for n, v in chosen.items() if n in plan["own"]})
    return f"{TRIALS} trials from seed {SEED}, {tolerance_words(tolerance)}{sizes}", each()


def submission(folder: str, path: str, name: str) -> list:
    """The rows of an operator file that calls a submission."""
    problem = Problem(folder)
    called = Submission(problem, path)
    return [problem._row(name, called.forward, accepts=called.accepts, nondeterministic=called.varying())]
