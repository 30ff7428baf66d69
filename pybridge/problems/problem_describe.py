"""Describes a published problem as an operator, whatever its format is: the shapes at which it is judged, the
kinds of data that it has a bounded answer for, and what its own check would let pass. The module of a format
says what its tensors and sizes are, and calls the reference."""

from __future__ import annotations

import ast
import itertools
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import error_bound
import problem_fills
import problem_names
import problem_sizes
from problem_fills import SEED, TOLERANCE
from problem_inspect import Refused
from problem_seed import seed_torch
from tensors import NAMES

MOST_OWN_ELEMENTS = 1 << 20
"""Of the tensors of the problem's own shape, where it is judged without a GPU."""

MOST_TESTED = 3
"""Shapes of the problem's tests that are judged, without its own."""

MOST_FIXED_ELEMENTS = 1 << 24
"""Of the smallest shape of a problem most of whose sizes are numbers in its text."""

MOST_CHECKED_ELEMENTS = 1 << 20
"""Of the tensors at which the problem's own check is asked what it accepts."""

MOST_SECONDS = 1.0
"""Of processor time of a call at a shape of ours, of which the truth takes many times as much."""

QUICK = ("shifted", "outlier")


class Description(problem_fills.Data):
    """One problem while it is described. A format defines result(), which sets the names below, and how the
    problem is run:

    inputs(values, seed)      the arguments of the reference at sizes, as the problem draws them
    model(values, seed)       what call and reference run, at sizes
    call(model, inputs)       the outputs
    reference(model, inputs)  the reference as a function of its tensors
    probes, free, expressions, own, moving
                              the sizes, as problem_sizes finds them
    constants, scalars        numbers of the file and of a call that become attributes
    first, places, outputs    an example of each input, its place among the arguments, and of each output
    input_names, output_names, dims, arguments, dtype
    """

    def __init__(self, path: Path):
        self.path = path
        self.text = path.read_text(encoding="utf-8-sig", errors="replace")
        self.names = problem_names.Names()
        self.notes: list[str] = []
        self.in_place: dict[str, str] = {}  # outputs that overwrite an input
        self.held: set[str] = set()  # sizes that a submission gets as the elements of a tensor
        self.begin()

    def parsed(self) -> ast.Module:
        """The file as Python."""
        try:
            return ast.parse(self.text, str(self.path))
        except SyntaxError as e:
            raise Refused(f"line {e.lineno} is no Python: {e.msg}") from e

    # ---- the description

    def finished(self) -> dict[str, Any]:
        """The description, once the sizes and tensors are known."""
        self.chosen_shapes()
        self.validate()
        self.data()
        return self.description()

    def chosen_shapes(self) -> None:
        """The shapes that are judged: of the proposed ones those at which the problem has the answer that the
        expressions say."""
        self.own_elements = problem_sizes.elements(self.probes.first)
        for most in (problem_sizes.MOST_ELEMENTS, MOST_OWN_ELEMENTS, MOST_FIXED_ELEMENTS):
            self.shapes = self.shapes_of_ours(most)
            full = [v for v in self.shapes if not self.is_empty(v)]
            if full:
                break
        else:
            raise Refused("no shape of it is small enough to be judged without a GPU, and none could be "
                          f"made: its tensors have {self.own_elements} elements, and its sizes are no "
                          "constants of the file")
        self.judged = max(full[:2], key=lambda v: problem_sizes.elements(self.probes.at(v)))

    def is_empty(self, values: dict[str, int]) -> bool:
        """Whether some tensor has no elements."""
        return 0 in (self.probes.perhaps(values) or {}).values()

    def follows(self, slot: tuple, values: dict[str, int], sizes: problem_sizes.Sizes) -> bool:
        """Whether a size equals the value of its expression."""
        return problem_sizes.value_of(self.expressions[slot], values) == sizes[slot]

    def proposed(self) -> Iterator[dict[str, int]]:
        """Shapes that may be judged: among ours the largest of the problem's tests, whose sizes a submission
        may know."""
        ours = problem_sizes.shapes(self.probes, self.free)
        yield from itertools.islice(ours, 2)
        known = [(problem_sizes.elements(sizes), v) for v in self.tested()
                 if (sizes := self.probes.perhaps(v)) is not None]
        small = [one for one in known if one[0] <= problem_sizes.MOST_ELEMENTS]
        yield from [v for _, v in sorted(small, key=lambda one: -one[0])][:MOST_TESTED]
        yield from ours

    def tested(self) -> list[dict[str, int]]:
        """The sizes of the problem's tests."""
        return []

    def shapes_of_ours(self, most: int) -> list[dict[str, int]]:
        """Those of the proposed shapes, of at most so many elements."""
        shapes: list[dict[str, int]] = []
        for proposed in self.proposed():
            values = self.probes.whole(proposed)
            if values in shapes or len(shapes) >= (2 if most == MOST_FIXED_ELEMENTS else 16):
                continue
            sizes = self.probes.perhaps(values)
            if sizes is None or sizes.keys() != self.probes.first.keys():
                continue
            if problem_sizes.elements(sizes) > most:
                continue
            if any(not self.follows(slot, values, sizes) for slot in self.expressions):
                continue
            begun = time.process_time()
            try:
                with torch.no_grad():
                    answer = self.call(self.model(values, 0), self.inputs(values, 0))
            except Exception:
                continue
            if shapes and time.process_time() - begun > MOST_SECONDS:
                continue
            if not all(v.isfinite().all() for v in answer):
                continue
            shapes.append(values)
        return shapes

    def validate(self) -> None:
        """Asks whether the reference decides anything."""
        values = self.judged
        model, inputs = self.model(values, SEED), self.inputs(values, SEED)
        before, copies = copied(inputs), copied(inputs)
        with torch.no_grad():
            seed_torch(1)
            value = self.call(model, inputs)
            seed_torch(2)
            again = self.call(self.model(values, SEED), copies)
            others = self.call(self.model(values, SEED), self.inputs(values, 43))
            weights = self.call(self.model(values, 43), copied(before))
            second = self.call(model, copied(before))
        if not all(torch.equal(a, b) or torch.allclose(a, b, equal_nan=True) for a, b in zip(value, again)):
            raise Refused("its forward draws random numbers of its own: two calls with the same inputs give "
                          "different answers")
        if not all(torch.allclose(a, b, equal_nan=True) for a, b in zip(value, second)):
            raise Refused("it has a state: a second call of the same model with the same inputs gives "
                          "another answer")
        if any(not v.isfinite().all() for v in value if v.is_floating_point()):
            raise Refused("its answer to its own inputs has a NaN or an infinity")
        for seed in range(44, 60):  # a path through a maze, say, rarely exists
            if any(not torch.equal(a, b) for a, b in zip(value, others)):
                break
            with torch.no_grad():
                others = self.call(self.model(values, SEED), self.inputs(values, seed))
        if all(torch.equal(a, b) for a, b in zip(value, others)):
            if not self.is_constant():
                raise Refused("its answer is the same for all inputs that triad draws")
            raise Refused("its answer is the same for other inputs: it cannot tell a right kernel from one "
                          "that ignores its inputs", constant=True)
        self.seeded = any(not torch.equal(a, b) for a, b in zip(value, weights))
        self.writes = [self.input_names[k] for k, i in enumerate(self.places)
                       if not torch.equal(inputs[i], before[i])]
        self.weak = self.passing()

    def is_constant(self) -> bool:
        """Whether an answer that is the same for other inputs at small sizes is so at its own too. By
        default inputs() gives what the problem draws."""
        values = self.nearly_own()
        try:
            with torch.no_grad():
                one, other = (self.call(self.model(values, SEED), self.inputs(values, seed))
                              for seed in (SEED, SEED + 1))
        except Exception:
            return False
        return all(torch.equal(a, b) for a, b in zip(one, other))

    def nearly_own(self) -> dict[str, int]:
        """The problem's own sizes, with the first ones cut where they are too many to compute here: how large
        the elements of a softmax are, say, follows from the others."""
        values, sizes = self.probes.whole(self.own), self.probes.first
        for name in self.free:
            while problem_sizes.elements(sizes) > MOST_CHECKED_ELEMENTS and values[name] > 1:
                trial = self.probes.whole({**values, name: max(1, values[name] // 4)})
                cut = self.probes.perhaps(trial)
                if cut is None or min(cut.values()) < 1:  # smaller than a window
                    break
                values, sizes = trial, cut
        return values if problem_sizes.elements(sizes) <= MOST_CHECKED_ELEMENTS else self.judged

    def passing(self) -> list[str]:
        """Names the wrong answers that the format's own check accepts too."""
        values = self.nearly_own()
        given = self.inputs(values, SEED)
        inputs = [t.clone() for t in given if isinstance(t, torch.Tensor)]
        with torch.no_grad():
            value = self.call(self.model(values, SEED), given)
            others = self.call(self.model(values, SEED), self.inputs(values, 43))
        wrong = {"zeros": [torch.zeros_like(v) for v in value],
                 "the answer to other inputs": others}
        if any(v.numel() > 1 for v in value):
            wrong["one value everywhere"] = [torch.full_like(v, v.double().mean().item()) for v in value]
        for name, t in zip(self.input_names, inputs):
            if len(value) == 1 and t.shape == value[0].shape and t.dtype == value[0].dtype:
                wrong[f"the input {name}"] = [t]
        return [name for name, answer in wrong.items() if self.accepts(values, answer, value)]

    def accepts(self, values: dict[str, int], answer: list, value: list) -> bool:
        """Whether the format's own check accepts an answer at sizes, where value is the right one."""
        check = self.their_check()
        return all(torch.allclose(a.double(), b.double(), **check) for a, b in zip(answer, value))

    def their_check(self) -> dict[str, float]:
        """The tolerances of the problem's own check."""
        return {"atol": TOLERANCE[self.dtype], "rtol": TOLERANCE[self.dtype]}

    # ---- the words

    def constants_of_a_call(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Where a call has each constant of the file: as a size of an input or as an attribute; and the
        attributes."""
        attributes: list[dict[str, Any]] = []
        constants: dict[str, Any] = {}
        for constant, dim in self.dims.items():
            if not constant:
                continue
            place = next(({"input": k, "axis": axis} for k, i in enumerate(self.places)
                          for axis in range(self.first[k].dim())
                          if self.expressions["input", i, axis] == constant), None)
            if place is None or constant in self.held:
                name = self.names.take(f"of_{dim}")
                attributes.append({"name": name, "type": "int", "default": dim})
                place = {"attribute": name}
            constants[constant] = place
        for constant, value in self.constants.items():
            if constant in self.free:
                continue
            if constant in self.probes.linked:
                constants[constant] = constants.get(self.probes.linked[constant])
                continue
            name = self.named(constant)
            constants[constant] = {"attribute": name}
            attributes.append(self.attribute(name, value, constant in self.moving))
        return constants, attributes

    def description(self) -> dict[str, Any]:
        constants, attributes = self.constants_of_a_call()
        for name, value in self.scalars.items():
            attributes.append(self.attribute(name, value, name == "no_class"))
        if self.seeded:
            attributes.append({"name": "weights_seed", "type": "int", "default": 0, "least": 0,
                               "draws": True})
        differentiable = list(self.differentiable) if not self.gradient else []
        own = self.judged_words(self.own)
        attribute_of = {c: place["attribute"] for c, place in constants.items()
                        if place and "attribute" in place}
        return {
            "dtypes": [NAMES[self.dtype]],
            "dims": [{"name": d, "may_be_empty": any(v.get(c) == 0 for v in [*self.shapes, self.own]),
                      "empties": any(v.get(c) == 0 and self.is_empty(v) for v in self.shapes)}
                     for c, d in self.dims.items()],
            "attributes": attributes,
            "inputs": [{"name": n, "dtype": self.dtype_word(t), "shape": self.shape("input", i, t),
                        "differentiable": k in differentiable, "fill": self.fills.get(k, "")}
                       for k, (n, i, t) in enumerate(zip(self.input_names, self.places, self.first))],
            "outputs": [{"name": n, "dtype": self.dtype_word(t), "shape": self.shape("output", i, t)}
                        for i, (n, t) in enumerate(zip(self.output_names, self.outputs))],
            "distributions": self.distributions,
            "quick": [d for d in QUICK if d in self.distributions],
            "shapes": [self.judged_words(v) for v in self.shapes],
            "pinned": [{"sizes": self.judged_words(sizes),
                        "attributes": {attribute_of[n]: value for n, value in numbers.items()}}
                       for numbers, sizes in self.pinned],
            "own_attributes": {attribute_of[n]: value for n, value in self.own_numbers().items()},
            "every": self.judged_words(self.judged),
            "own": own, "own_needs_gpu": self.own_elements > MOST_OWN_ELEMENTS,
            "weak": self.weak, "writes": self.writes, "no_gradient": self.gradient,
            "notes": self.notes, "in_place": self.in_place,
            "plan": {
                "constants": constants, "arguments": self.arguments, "tensors": len(self.first),
                "outputs": self.output_names, "differentiable": differentiable,
                "gradients": [f"grad_{self.input_names[k]}" for k in differentiable],
                "dtypes": [NAMES[self.dtype]], "own": {name: self.own[name] for name in self.free},
                "their_check": self.their_check(), "own_elements": self.own_elements,
                "checked": self.nearly_own(),
                "contract": self.judged_contract(),
            },
        }

    def judged_contract(self) -> str:
        """The contract of the operator where it is not of fp32."""
        if not self.dtype.is_floating_point:
            return "exact"
        return "fast" if {"e4m3", "e5m2"} & {NAMES[t.dtype] for t in self.first} else "eager"

    def own_numbers(self) -> dict[str, Any]:
        """The constants that have another value at the problem's own sizes than in self.constants."""
        return {}

    def named(self, constant: str) -> str:
        """The name of a constant that becomes an attribute."""
        return self.names.take(constant)

    def judged_words(self, values: dict[str, int]) -> dict[str, int]:
        return {dim: values.get(constant, 1) for constant, dim in self.dims.items()}

    def attribute(self, name: str, value: Any, pinned: bool) -> dict[str, Any]:
        if isinstance(value, float):
            if not math.isfinite(value):
                raise Refused(f"its number {name} is {value}: an operator is judged with finite ones")
            return {"name": name, "type": "float", "default": value}
        found: dict[str, Any] = {"name": name, "type": "int", "default": value}
        if pinned:
            found.update(least=value, below=value + 1)
        return found

    def dtype_word(self, t: torch.Tensor) -> str:
        return "" if t.dtype == self.dtype else NAMES[t.dtype]

    def shape(self, kind: str, i: int, t: torch.Tensor) -> list[str]:
        if not t.dim():
            return ["1"]
        return [self.renamed(self.expressions[kind, i, axis]) for axis in range(t.dim())]

    def renamed(self, expression: str) -> str:
        """An expression with the names of the spec."""
        return re.sub(r"[A-Za-z_]\w*", lambda m: self.dims.get(m[0], m[0]), expression)


def imported_all() -> None:
    """Has torch import what it imports at the first use, which takes longer than most problems do: processes
    forked after that share it. No gradient is computed, whose threads a fork would lose."""
    with torch.device("meta"), torch.no_grad():
        torch.nn.functional.relu(torch.nn.Linear(2, 2)(torch.rand(2, 2)))
    model = torch.nn.ReLU()
    error_bound.compute(lambda x: torch.func.functional_call(model, {}, (x,)), (torch.ones(2),), {}, "fp32",
                      torch.float32, False, 1)


def copied(inputs: list) -> list:
    """Copies of arguments, since a reference may write into them."""
    return [t.clone() if isinstance(t, torch.Tensor) else t for t in inputs]
