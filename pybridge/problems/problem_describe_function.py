"""Describes problems whose submission is a function of tensors and numbers, in the places of a signature. Its
sizes are numbers that the function takes; how the shapes of tensors follow from them, the problem's tests
show. The module of a format says what the signature and the tests are, and calls the reference."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

import problem_describe
import problem_sizes
from problem_inspect import Refused

LEAST_TESTS = 3
MOST_OTHERS = 8
"""Other values of the numbers of a call that are judged."""

MOST_LOOKED_AT = 1 << 20
"""Elements of a test's tensor that are looked at for its range."""

NUMBERS = ("number", "extra")
"""What a parameter is that is no tensor; the reference gets no extra one."""


class Function(problem_describe.Description):
    """A problem while it is described. A format sets, besides what Description asks for:

    signature   each parameter with the word of what it is: input, output, number or extra
    kinds       the dtype of each tensor; of a number its type in C
    tests       a dictionary of the parameters for each test; those of `looked` have elements
    """

    def begin(self) -> None:
        self.parsed()
        self.constants: dict[str, Any] = {}
        self.aliases: dict[str, str] = {}  # parameters that equal a size

    def result(self) -> dict[str, Any]:
        self.look()
        self.tests_of()
        self.sizes_of()
        self.tensors()
        tests = [{n: test[n] for n in self.free} for test in self.tests]
        several = [test for test in tests if min(test.values()) > 2] or tests
        start = min(several, key=lambda test: sum(test.values()))
        self.probes = problem_sizes.Probes(self.evaluated, self.own, start)
        return self.finished()

    def sizes_of(self) -> None:
        """How shapes follow from the numbers."""
        numbers = [n for n, word in self.signature if word in NUMBERS]
        whole = [n for n in numbers if all(type(test[n]) is int for test in self.tests)]
        for n in numbers:
            if any(type(test[n]) not in (int, float) for test in self.tests):
                raise Refused(f"its parameter {n} is neither a tensor nor a number")
        points = [({n: test[n] for n in whole}, self.sizes_in(test)) for test in self.tests]
        if len({tuple(sizes) for _, sizes in points}) != 1:
            raise Refused("the number of sizes of a tensor differs from test to test")
        if len({tuple(values.items()) for values, _ in points}) < LEAST_TESTS:
            raise Refused("its tests are too few to tell how sizes follow from the numbers")
        self.expressions = problem_sizes.fitted(points, whole)
        if None in self.expressions.values():
            self.expressions = self.sizes_of_one(points, whole)
        words = " ".join(self.expressions.values())
        self.free = [n for n in whole if n in problem_sizes.names_in(words)]
        largest = max(self.tests, key=lambda test: sum(test[n] for n in self.free))
        self.others = [n for n in numbers if n not in self.free and not self.is_alias(n)]
        timed = self.one_type_each({n: value for n, value in self.timed().items()
                                    if n in numbers and type(value) in (int, float)})
        usual = self.tests[0]
        self.constants = {n: (largest if n in self.free else usual)[n] for n in numbers
                          if n not in self.aliases}
        self.own = {n: timed.get(n, largest[n]) for n in self.free}
        self.timed_numbers = {n: timed[n] for n in self.others if n in timed}
        self.moving = []

    def sizes_in(self, test: dict[str, Any]) -> problem_sizes.Sizes:
        """The sizes of the tensors of a test."""
        sizes, ins, outs = {}, 0, 0
        for name, word in self.signature:
            if word in NUMBERS:
                continue
            kind, i = ("input", ins) if word == "input" else ("output", outs)
            ins, outs = ins + (word == "input"), outs + (word == "output")
            sizes[kind, i, -1] = 1
            sizes.update({(kind, i, axis): n for axis, n in enumerate(test[name].shape)})
        return sizes

    def sizes_of_one(self, points: list, whole: list[str]) -> dict[tuple, str]:
        """How sizes follow where those of outputs depend on several numbers at once. A format whose reference
        makes its outputs can find out for the numbers of one test."""
        raise Refused("the size of a tensor follows from the numbers in a way that triad does not find")

    def is_alias(self, name: str) -> bool:
        """Whether an extra parameter equals a size in every test. The reference does not get it: it can
        be nothing but that, or the same everywhere."""
        if (name, "extra") not in self.signature or len({test[name] for test in self.tests}) == 1:
            return False
        same = [n for n in self.free if all(test[n] == test[name] for test in self.tests)]
        if not same:
            raise Refused(f"its parameter {name} differs from test to test, and follows from none of its "
                          "sizes")
        self.aliases[name] = same[0]
        return True

    def one_type_each(self, timed: dict[str, Any]) -> dict[str, Any]:
        """Makes floats of the numbers that are floats in the signature or in some test; of those of the timed
        test too, which it gives."""
        for n in self.others:
            given = [test for test in (*self.tests, timed) if n in test]
            if self.kinds[n] in (ctypes.c_float, ctypes.c_double) or any(type(t[n]) is float for t in given):
                for test in given:
                    test[n] = float(test[n])
        return timed

    def other_numbers(self) -> list[tuple[dict[str, Any], dict[str, int]]]:
        """The values of the tests other than the first: of each value at least one test, as far as there
        are not too many."""
        found: list[tuple[dict[str, Any], dict[str, int]]] = []
        seen = {(n, self.constants[n]) for n in self.others}
        tests = sorted(self.tests, key=lambda test: sum(test[n] for n in self.free))
        own = {**self.constants, **self.own, **self.timed_numbers}
        for test in [own, *tests]:
            numbers = {n: test[n] for n in self.others}
            if seen.issuperset(numbers.items()) or len(found) >= MOST_OTHERS:
                continue
            seen.update(numbers.items())
            found.append((numbers, {n: test[n] for n in self.free}))
        return found

    def own_numbers(self) -> dict[str, Any]:
        return {n: value for n, value in self.timed_numbers.items() if value != self.constants[n]}

    def timed(self) -> dict[str, Any]:
        """The numbers of the test that is timed."""
        return {}

    def evaluated(self, values: dict[str, int]) -> problem_sizes.Sizes:
        sizes = {slot: problem_sizes.value_of(e, values) for slot, e in self.expressions.items()}
        if min(sizes.values()) < 0:
            raise ValueError("a size below 0")
        if problem_sizes.elements(sizes) <= problem_sizes.MOST_ELEMENTS:
            self.call(self.model(values, 0), self.inputs(values, 0))  # it asserts what it does not take
        return sizes

    def tensors(self) -> None:
        self.arguments, self.input_names, self.scalars, self.first = [], [], {}, []
        self.outputs, self.output_names = [], []
        self.spec_names = {name: self.names.take(name) for name, _ in self.signature}
        for name, word in self.signature:
            value = self.tests[0][name]
            if word in NUMBERS:
                continue
            if value.dtype != self.kinds[name]:
                raise Refused(f"its tensor {name} is of {value.dtype}, and its signature says another type")
            if word == "input":
                self.first.append(value)
                self.input_names.append(self.spec_names[name])
            else:
                self.outputs.append(value)
                self.output_names.append(self.spec_names[name])
        floats = [t.dtype for t in self.first if t.is_floating_point()]
        if not floats or not self.outputs:
            raise Refused("none of its inputs is of floating-point numbers")
        if any(t.dtype != floats[0] for t in self.outputs):
            raise Refused("its outputs are not of the dtype of its first input: integers and choices are not "
                          "imported")
        self.dtype = floats[0]
        if self.dtype not in problem_describe.TOLERANCE:
            raise Refused(f"its inputs are of {self.dtype}: want fp32 or fp16")
        self.places = list(range(len(self.first)))
        self.dims = {n: self.spec_names[n] for n in self.free}
        if not self.free:
            raise Refused("none of its numbers is a size")
        for n in self.free:
            if not any(word == n for (kind, _, _), word in self.expressions.items() if kind == "input"):
                raise Refused(f"its size {n} shows in no input")

    def shapes_of_ours(self, most: int) -> list[dict[str, int]]:
        """A size of 0 is judged where a test has one: the problem may rule it out."""
        empty = any(test[n] == 0 for test in self.tests for n in self.free)
        return [values for values in super().shapes_of_ours(most) if empty or 0 not in values.values()]

    # ---- running it

    def inputs(self, values: dict[str, Any], seed: int) -> list:
        random = torch.Generator().manual_seed(seed)
        made = []
        tensors = [name for name, word in self.signature if word == "input"]
        for i, (name, first) in enumerate(zip(tensors, self.first)):
            shape = [problem_sizes.value_of(self.expressions["input", i, axis], values)
                     for axis in range(first.dim())]
            looked = [test[name].flatten()[:MOST_LOOKED_AT] for test in self.looked if test[name].numel()]
            low, high = min(t.min().item() for t in looked), max(t.max().item() for t in looked)
            if first.is_floating_point():
                t = torch.rand(shape, generator=random)
                made.append((t if low >= 0 else 2 * t - 1).to(first.dtype))
            else:
                bound = self.bound_of(name, low, high)
                top = values[bound] if bound else int(high) + 1
                made.append(torch.randint(int(low), max(top, 1), shape, generator=random).to(first.dtype))
        return made

    def draws(self) -> list[list[list]]:
        """Those of the tests: inputs() draws others."""
        names = [name for name, word in self.signature if word == "input"]
        tests = [[test[name] for name in names] for test in self.looked]
        small = [d for d in tests if sum(t.numel() for t in d) <= problem_describe.MOST_CHECKED_ELEMENTS]
        return [small or tests[:1]]

    def bound_of(self, name: str, low: float, high: float) -> str:
        """The size that the integers of an input stay below in every test; "" for none."""
        for n in self.free:
            ends = [int(test[name].max()) - test[n] + 1 for test in self.looked if test[name].numel()]
            if low >= 0 and max(ends) == 0:
                return n
        return ""

    def classes(self, i: int, samples: list) -> str:
        tensors = [name for name, word in self.signature if word == "input"]
        values = [test[tensors[i]] for test in self.looked if test[tensors[i]].numel()]
        bound = self.bound_of(tensors[i], min(t.min().item() for t in values), 0)
        if not bound:
            raise Refused("an input holds integers whose range follows from none of its sizes")
        return self.dims[bound]

    def model(self, values: dict[str, Any], seed: int) -> Any:
        return {**self.constants, **values}

    def shapes_of(self, values: dict[str, Any]) -> list[list[int]]:
        return [[problem_sizes.value_of(self.expressions["output", i, axis], values)
                 for axis in range(t.dim())] for i, t in enumerate(self.outputs)]

    def gradient_trouble(self, distribution: str, values: dict[str, int]) -> str:
        return "the format has none"

    # ---- the words

    def named(self, constant: str) -> str:
        return self.spec_names[constant]

    def description(self) -> dict[str, Any]:
        found = super().description()
        plan = found["plan"]
        plan["signature"] = self.signature
        plan["parameters"] = [self.spec_names[self.aliases.get(name, name)] for name, _ in self.signature]
        plan["output_shapes"] = [[self.expressions["output", i, axis] for axis in range(t.dim())]
                                 for i, t in enumerate(self.outputs)]
        return found
