"""Problems in the format of kernelbench.com's decks: a folder with reference.py, shapes.py and problem.yaml.
A submission is a file with `class Model`.

reference.py has the form of a KernelBench problem: `class Model`, `get_inputs()` and `get_init_inputs()`.
shapes.py holds SHAPES, a list of values of its constants. A submission's Model is made with what
get_init_inputs() returns, and then takes the weights and buffers of the reference's by their names, which
must be the same.

An imported problem is a folder like those of problem_kernelbench.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

import torch

import problem_kernelbench as kernelbench
from problem_seed import seed_torch
from problem_trial import Trial, attributes_of, tolerance_words, words


@contextlib.contextmanager
def drawing(seed: int) -> Iterator[None]:
    """While it is entered, random numbers follow from this seed alone: some get_inputs() set a seed of their
    own, and would give the same numbers whatever the seed of the check is."""
    seed_torch(seed)
    set_seed = torch.manual_seed
    torch.manual_seed = lambda _: torch.default_generator
    try:
        yield
    finally:
        torch.manual_seed = set_seed


def make(module: types.ModuleType, kind: type, seed: int) -> torch.nn.Module:
    """A model as the format makes it."""
    return kernelbench.make(module, kind, seed).eval()


class Problem(kernelbench.Problem):
    """A problem that was imported."""

    def _make(self, constants: tuple, seed: int) -> torch.nn.Module:
        return make(self._module(constants), self._module(constants).Model, seed)

    def draw(self, shapes: list[tuple], attributes: dict[str, Any], seed: int) -> list[torch.Tensor]:
        """The inputs as the problem draws them at the sizes of a call."""
        module = self.module(tuple(types.SimpleNamespace(shape=s) for s in shapes), attributes)
        with drawing(seed):
            return [t for t in module.get_inputs() if isinstance(t, torch.Tensor)]


class Submission(kernelbench.Submission):
    """The class Model of a file, with the weights of the reference."""

    entry = "Model"

    def forward(self, *tensors: torch.Tensor, **attributes: Any) -> Any:
        """Model's answer, copied: the check reads an answer before it makes the next call, so that a
        submission may give each in the same memory."""
        value = super().forward(*tensors, **attributes)
        if isinstance(value, tuple):
            return tuple(v.clone() if type(v) is torch.Tensor else v for v in value)
        return value.clone() if type(value) is torch.Tensor else value

    def made(self, module: types.ModuleType, seed: int) -> torch.nn.Module:
        """The submission's model at the sizes of the problem's module."""
        model = make(module, self.file.Model, seed)
        model.load_state_dict(make(module, module.Model, seed).state_dict(), strict=True)
        return model


DECK_SEEDS = (42, 123, 456)
"""Of the check."""


def trials(problem: Any, device: str) -> tuple[str, Iterator[Trial]]:
    """The calls of the format's own check."""
    plan = problem.plan
    tolerance = plan["their_check"]
    small = device != "cpu"
    shapes = plan["tests"] if small else [plan["checked"]]

    def accepts(got: list, want: list) -> bool:
        return len(got) == len(want) and all(
            a.shape == b.shape and a.isfinite().all()
            and torch.allclose(a.float(), b.float(), **tolerance) for a, b in zip(got, want))

    def each() -> Iterator[Trial]:
        for shape in shapes:
            values = {**plan["checked"], **shape}
            module = kernelbench.execute(problem.text, str(problem.path), values)
            for seed in DECK_SEEDS:
                with drawing(seed):
                    inputs = list(module.get_inputs())
                tensors = tuple(inputs[k] for k, a in enumerate(plan["arguments"]) if "input" in a)
                yield Trial(f"{words(shape)}, seed {seed}", tensors, attributes_of(plan, values), values,
                            accepts)
    sizes = "" if small else ", at sizes cut to " + words(plan["checked"])
    return (f"seeds {', '.join(map(str, DECK_SEEDS))}, {tolerance_words(tolerance)}{sizes}, without its "
            "cases of other scales"), each()


def submission(folder: str, path: str, name: str) -> list:
    """The rows of an operator file that calls a submission."""
    problem = Problem(folder)
    called = Submission(problem, path)
    return [problem._row(name, called.forward, accepts=called.accepts, nondeterministic=called.varying())]
