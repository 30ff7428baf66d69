"""Describes a problem in the format of kernelbench.com's decks as an operator. shapes.py names the constants
that are sizes. How the shapes of tensors follow from them, calls at small sizes show: a reference may read
elements, and then has no answer without them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import yaml

import problem_deck as deck
import problem_describe_kernelbench
import problem_fills
import problem_kernelbench as kernelbench
import problem_sizes
from problem_fills import reason
from problem_inspect import Refused, line

MOST_ELEMENTS = 1 << 20
"""Of the tensors and weights of a call that is made."""

LEAST_ELEMENTS = 1 << 15
"""Sizes are halved until tensors and weights have at most so many elements."""

LEAST_SIZE = 8
"""No size is halved below."""


CUT_ELEMENTS = 1 << 20
"""The problem's own shapes are cut until tensors and weights have at most so many elements."""

CUT_INPUTS = 1 << 18
"""And inputs at most so many."""

MOST_WHOLE = 1 << 29
"""Of the tensors and weights of a shape of the deck that is judged whole."""

MOST_JUDGED = 1 << 19
"""Elements of the tensors of a shape of ours: each meets one kind of data."""

CUTS = ((128, 1 << 40), (2, 32), (64, 1 << 40), (32, 1 << 40), (8, 1 << 40))
"""How sizes are cut, (floor, largest) after another: the large ones to those of tiles, then those that count
heads or batches, then the large ones further."""


def _name_of(slot: tuple) -> str:
    """The name of a size of an input that follows from no other."""
    return f"size_{slot[1]}_{slot[2]}"


def describe(path: str) -> dict[str, Any]:
    """The description; Refused where there is none."""
    return _Deck(Path(path)).result()


class _Deck(problem_describe_kernelbench.File):
    """One problem while it is described."""

    def begin(self) -> None:
        """Reads shapes.py and problem.yaml, and finds the constants that are sizes."""
        self.modules: dict[tuple, Any] = {}
        tree = self.parsed()
        if not any(isinstance(n, ast.FunctionDef) and n.name == "get_inputs" for n in tree.body):
            raise Refused("it defines no get_inputs, which the format has: only its own check knows how its "
                          "model is called")
        found: dict[str, Any] = {}
        try:
            exec(compile((self.path.parent / "shapes.py").read_text(encoding="utf-8-sig"), "shapes.py",
                         "exec"), found)
            self.stated = yaml.safe_load((self.path.parent / "problem.yaml").read_text(encoding="utf-8-sig"))
        except Exception as e:
            raise Refused(reason("reading its shapes.py and problem.yaml", e)) from e
        shapes = found.get("SHAPES")
        if (not isinstance(shapes, list) or not shapes or not isinstance(self.stated, dict)
                or not all(isinstance(s, dict) and s and all(type(v) is int for v in s.values())
                           for s in shapes)):
            raise Refused("its shapes.py has no SHAPES, a list of sizes by name, or its problem.yaml says "
                          "nothing")
        if self.stated.get("world_size") or self.stated.get("collective"):
            raise Refused("it needs several GPUs")
        assigned = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        shapes = [{name if name in assigned else name.upper(): v for name, v in s.items()} for s in shapes]
        unknown = sorted({name for s in shapes for name in s} - assigned)
        if unknown or any(s.keys() != shapes[0].keys() for s in shapes):
            raise Refused("its shapes.py gives values to names that its reference.py does not assign: "
                          + ", ".join(unknown) if unknown else "the shapes in its shapes.py name different "
                          "constants")
        self.constants, self.called = dict(shapes[0]), shapes

    # ---- running it

    def inputs(self, values: dict[str, Any], seed: int) -> list:
        with deck.drawing(seed):
            return list(self.module(self.whole(values)).get_inputs())

    def model(self, values: dict[str, Any], seed: int) -> torch.nn.Module:
        module = self.module(self.whole(values))
        return deck.make(module, module.Model, seed)

    def whole(self, values: dict[str, Any]) -> dict[str, Any]:
        return {**self.constants, **values}

    def elements(self, values: dict[str, int]) -> int:
        """How many elements inputs and weights have, found without them."""
        with torch.device("meta"), torch.no_grad():
            return self.inputs_alone(values) + sum(
                t.numel() for t in self.model(values, 0).state_dict().values())

    def inputs_alone(self, values: dict[str, int]) -> int:
        """How many elements the inputs have."""
        with torch.device("meta"):
            return sum(t.numel() for t in self.inputs(values, 0) if isinstance(t, torch.Tensor))

    def sizes(self, values: dict[str, int]) -> problem_sizes.Sizes:
        if self.elements(values) > MOST_ELEMENTS:
            raise ValueError("too large to be called here")
        inputs = self.inputs(values, 0)
        with torch.no_grad():
            outputs = kernelbench.listed(self.model(values, 0)(*inputs))
        return self.sizes_of(inputs, outputs)

    def result(self) -> dict[str, Any]:
        self.look()
        own, self.least = dict(self.constants), self.small()
        try:
            self.probes = problem_sizes.Probes(self.sizes, self.least)
        except Refused:
            raise
        except Exception as e:
            raise Refused(reason("calling it", e)) from e
        self.moving = problem_sizes.vary(self.probes)
        self.free, self.expressions = problem_sizes.expressions(self.probes, self.moving, _name_of)
        for shape in self.called:  # at small sizes a size may seem to be a number
            with torch.device("meta"):
                inputs = self.inputs(shape, 0)
            for slot, e in self.expressions.items():
                kind, i, axis = slot
                if (kind == "input" and axis >= 0 and e != _name_of(slot)
                        and problem_sizes.value_of(e, shape) != inputs[i].shape[axis]):
                    self.expressions[slot] = _name_of(slot)
        self.derived = {e: slot for slot, e in self.expressions.items() if e == _name_of(slot)}
        if not self.free:
            raise Refused("none of the sizes in its shapes.py is the size of a tensor")
        self.own = {name: own[name] for name in self.free}
        self.constants = {name: own[name] if name in self.free else value
                          for name, value in self.least.items()}
        rest = {name: value for name, value in self.least.items() if name not in self.free}
        if other := {name: value for name, value in rest.items() if own[name] != value}:
            raise Refused("its sizes follow from " + ", ".join(other) + " in a way that triad does not find")
        self.tensors()
        self.dims.update({name: self.names.take(name) for name in self.derived})
        return self.finished()

    def small(self) -> dict[str, int]:
        """Small sizes that the problem has an answer for: those of its first shape, the largest halved again
        and again."""
        values = dict(self.constants)
        try:
            count = self.elements(values)
        except Exception as e:
            raise Refused(reason("making its inputs", e)) from e
        while count > LEAST_ELEMENTS:
            for name in sorted(values, key=lambda n: -values[n]):
                trial = {**values, name: values[name] // 2}
                if trial[name] < LEAST_SIZE or not (fewer := self.answered(trial)) or fewer >= count:
                    continue
                values, count = trial, fewer
                break
            else:
                break
        return values

    def answered(self, values: dict[str, int]) -> int:
        """How many elements a call has; 0 where the problem has no answer."""
        try:
            count = self.elements(values)
            if count <= MOST_ELEMENTS:
                self.sizes(values)
            return count
        except Exception:
            return 0

    def example(self) -> tuple[list, tuple]:
        inputs = self.inputs(self.least, 0)
        with torch.no_grad():
            return inputs, kernelbench.listed(self.model(self.least, 0)(*inputs))

    def dtype_of(self, floats: list[torch.dtype], outputs: tuple) -> torch.dtype:
        """That of the outputs that are numbers: inputs may be of 8 bits."""
        return next((v.dtype for v in outputs if v.is_floating_point()), super().dtype_of(floats, outputs))

    def proposed(self) -> Iterator[dict[str, int]]:
        """The problem's own shapes come first, cut: many a submission has an answer for such sizes alone, as
        for multiples of a tile."""
        for shape in self.called:
            yield self.cut({name: shape[name] for name in self.free})
        yield from super().proposed()

    def cut(self, values: dict[str, int]) -> dict[str, int]:
        """A shape with sizes halved, the first ones first, until tensors and weights have few elements."""
        values = dict(values)
        for floor, largest in CUTS:
            for name in values:
                while floor <= values[name] // 2 < largest and self.is_large(values):
                    trial = {**values, name: values[name] // 2}
                    if not self.answered(trial):
                        break
                    values = trial
        return values

    def shapes_of_ours(self, most: int) -> list[dict[str, int]]:
        return super().shapes_of_ours(max(most, MOST_JUDGED))

    def is_large(self, values: dict[str, int]) -> bool:
        return self.elements(values) > CUT_ELEMENTS or self.inputs_alone(values) > CUT_INPUTS

    def chosen_shapes(self) -> None:
        super().chosen_shapes()
        self.own_elements = self.elements(self.own)

    def follows(self, slot: tuple, values: dict[str, int], sizes: problem_sizes.Sizes) -> bool:
        return slot in self.derived.values() or super().follows(slot, values, sizes)

    def judged_words(self, values: dict[str, int]) -> dict[str, int]:
        """With the sizes of inputs that have a name of their own."""
        if self.derived:
            with torch.device("meta"):
                inputs = self.inputs({name: values[name] for name in self.free}, 0)
            values = {**values, **{name: inputs[i].shape[axis]
                                   for name, (_, i, axis) in self.derived.items()}}
        return super().judged_words(values)

    def nearly_own(self) -> dict[str, int]:
        return self.judged

    def data(self) -> None:
        """Every input is drawn as the problem draws it: its data say in which range of them a reference means
        something, such as decays below 1."""
        self.fills = dict.fromkeys(range(len(self.first)), problem_fills.DRAWN)
        self.differentiable, self.gradient, self.pinned = (), "the format has none", []
        self.distributions = ["normal"]
        if problem := self.bound("normal", self.judged):
            raise Refused(problem)
        self.shapes = [values for values in self.shapes if self.bounded("normal", values)]

    # ---- its own check

    def their_check(self) -> dict[str, float]:
        stated = self.stated.get("tolerance") or {}
        name = str(self.dtype)
        found = stated.get(name, stated.get(name.removeprefix("torch.")))
        try:
            if isinstance(found, dict):
                return {k: float(found.get(k, 0)) for k in ("atol", "rtol")}
            return super().their_check() if found is None else {"atol": float(found), "rtol": float(found)}
        except (TypeError, ValueError) as e:
            raise Refused(f"its tolerance is no number: {line(e)}") from e

    def description(self) -> dict[str, Any]:
        found = super().description()
        forbidden = [word for word in self.stated.get("forbidden") or [] if isinstance(word, str)]
        found["plan"].update(
            tests=[{name: shape[name] for name in self.free} for shape in self.called],
            forbidden=forbidden, checked=self.whole(self.judged), sizes=self.own_sizes())
        return found

    def own_sizes(self) -> list[dict[str, int]]:
        """The shapes of the deck whose truth takes seconds; if none is so small, the first one cut."""
        free = [{name: shape[name] for name in self.free} for shape in self.called
                if all(shape[name] == self.constants[name] for name in shape if name not in self.free)]
        small = [shape for shape in free if self.elements(shape) <= MOST_WHOLE]
        return [self.judged_words(shape) for shape in small or [self.cut(self.own)]]
