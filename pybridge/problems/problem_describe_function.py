"""Describes problems whose submission is a function with a signature of tensors and numbers. Some of the
numbers are sizes; the problem's tests show how the shapes of tensors follow from them. The module of a format
supplies the signature and the tests, and calls the reference."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import torch

import problem_describe
import problem_recipes
import problem_sizes
from problem_inspect import Refused

LEAST_TESTS, LEAST_PLAIN = 3, 2
"""The least tests that show how sizes follow from the numbers, and the least if each size is one of the
numbers or a constant."""

MOST_CHOICES = 256
"""The largest number of assignments of sizes to equal numbers that are tried."""

LEAST_SHOWN = 16
"""Integers of a test that show how large they get."""

DISTINCT = ((3, 5, 7, 4, 6, 2), (8, 12, 16, 20, 24, 4))
"""Values that differ from each other."""

MOST_OTHERS = 8
"""Other values of the numbers of a call that are judged."""

NUMBERS = ("number", "extra")
"""The kinds of parameters that are not tensors. The reference gets no extra one."""

TAKEN, MADE = ("input", "inout", "sizes"), ("output", "inout")
"""The kinds of input and output parameters. The reference gets no tensor of sizes."""


class Function(problem_describe.Description):
    """A problem while it is described. A format sets, besides what Description asks for:

    signature   each parameter with its kind: input, output, inout, sizes, number or extra
    kinds       the dtype of each tensor; of a number its type in C
    looked      tests with elements, after which inputs are drawn
    tests       a dictionary of the parameters for each test
    """

    can_draw, draws_alike = True, False

    def begin(self) -> None:
        self.parsed()
        self.constants: dict[str, Any] = {}
        self.aliases: dict[str, str] = {}  # parameters that equal a size
        self.recipes: list[dict[str, Any]] = []
        self.counted: dict[str, str] = {}  # numbers that count elements, each with how many there are
        self.shown: list[str] = []  # sizes that only the shape of an input shows
        self.by_hand = False  # whether somebody made up all tests that can be looked at

    def result(self) -> dict[str, Any]:
        self.look()
        self.tests_of()
        self.tests = self.of_one_rank()
        self.sizes_of()
        self.tensors()
        self.tell_apart()
        tests = [{n: test[n] for n in self.free} for test in self.tests]
        several = next((some for least in (3, 1, 0)
                        if (some := [test for test in tests if min(test.values(), default=0) >= least])),
                       tests)
        start = min(several, key=lambda test: sum(test.values()))
        self.probes = problem_sizes.Probes(self.evaluated, self.own, start)
        return self.finished()

    def sizes_of(self) -> None:
        """Finds how shapes follow from the numbers."""
        numbers = [n for n, word in self.signature if word in NUMBERS]
        whole = [n for n in [*numbers, *self.implied()]
                 if all(type(test[n]) is int for test in self.tests)]
        for n in numbers:
            if any(type(test[n]) not in (int, float) for test in self.tests):
                raise Refused(f"its parameter {n} is neither a tensor nor a number")
        points = [({n: test[n] for n in whole}, self.sizes_in(test)) for test in self.tests]
        self.expressions = problem_sizes.fitted(points, whole)
        plain = all(e in whole or str(e).isdigit() for e in self.expressions.values())
        if len({tuple(values.items()) for values, _ in points}) < (LEAST_PLAIN if plain else LEAST_TESTS):
            raise Refused("its tests are too few to tell how sizes follow from the numbers")
        if None in self.expressions.values() and self.show_sizes():
            whole += self.shown
            points = [({n: test[n] for n in whole}, self.sizes_in(test)) for test in self.tests]
            self.expressions = problem_sizes.fitted(points, whole)
        if None in self.expressions.values():
            self.expressions = self.sizes_of_one(points, whole)
        words = " ".join(self.expressions.values())
        self.free = [n for n in whole if n in problem_sizes.names_in(words)]
        largest = max(self.tests, key=lambda test: sum(test[n] for n in self.free))
        self.others = [n for n in numbers if n not in self.free and not self.is_alias(n)]
        timed = self.one_type_each({n: value for n, value in self.timed().items()
                                    if n in [*numbers, *whole] and type(value) in (int, float)})
        usual = self.tests[0]
        self.constants = {n: (largest if n in self.free else usual)[n] for n in numbers
                          if n not in self.aliases}
        self.own = {n: timed.get(n, largest[n]) for n in self.free}
        self.timed_numbers = {n: timed[n] for n in self.others if n in timed}
        self.moving = []

    def show_sizes(self) -> bool:
        """Adds the sizes of inputs as numbers if the reference gets no integer from which they could follow.
        Returns whether it added any."""
        if any(word == "number" and type(self.tests[0][n]) is int for n, word in self.signature):
            return False
        for i, name in enumerate(n for n, word in self.signature if word in TAKEN):
            if any(slot[:2] == ("input", i) and e is None for slot, e in self.expressions.items()):
                self.shown += [f"{name}_{axis}" for axis in range(self.tests[0][name].dim())]
                for test in self.tests:
                    test.update({f"{name}_{axis}": n for axis, n in enumerate(test[name].shape)})
        return bool(self.shown)

    def of_one_rank(self) -> list[dict[str, Any]]:
        """Returns the tests whose tensors have the most frequent numbers of axes."""
        ranks = [tuple(self.sizes_in(test)) for test in self.tests]
        looked = [tuple(self.sizes_in(test)) for test in self.looked]
        usual = max(ranks, key=lambda rank: (ranks.count(rank), rank in looked, len(rank)))
        kept = [test for test, rank in zip(self.tests, ranks) if rank == usual]
        if len(kept) < len(self.tests):
            kinds = [tuple(test[n].dim() for n, word in self.signature if word not in NUMBERS)
                     for test in kept[:1]]
            self.notes.append(f"It is judged with tensors of {', '.join(map(str, kinds[0]))} axes alone, as "
                              f"{len(kept)} of its {len(self.tests)} tests have them.")
        self.looked = [test for test, rank in zip(self.looked, looked) if rank == usual]
        self.by_hand = self.by_hand or not self.looked
        return kept

    def tell_apart(self) -> None:
        """Decides which of several numbers that are equal in every test a size follows: the reference then
        has an answer at sizes where they differ."""
        alike = {slot: same for slot, e in self.expressions.items() if e in self.free and len(
            same := [n for n in self.free if all(test[n] == test[e] for test in self.tests)]) > 1}
        found = self.expressions
        choices = itertools.islice(itertools.product(*alike.values()), MOST_CHOICES)
        for choice in [tuple(found[slot] for slot in alike), *choices]:
            self.expressions = {**found, **dict(zip(alike, choice))}
            used = problem_sizes.names_in(" ".join(self.expressions.values()))
            if all(n in used for n in self.free) and any(
                    self.has_answer(dict(zip(self.free, values))) for values in DISTINCT):
                return
        self.expressions = found

    def has_answer(self, values: dict[str, int]) -> bool:
        """Reports whether the reference has an answer at sizes, of the shape that its expressions give."""
        try:
            answer = self.call(self.model(values, 0), self.inputs(values, 0))
        except Exception:
            return False
        return [list(t.shape) for t in answer] == self.shapes_of(values)

    def sizes_in(self, test: dict[str, Any]) -> problem_sizes.Sizes:
        """The sizes of the tensors of a test."""
        sizes, ins, outs = {}, 0, 0
        for name, word in self.signature:
            if word in NUMBERS:
                continue
            for kind, i, is_one in (("input", ins, word in TAKEN), ("output", outs, word in MADE)):
                if is_one:
                    sizes[kind, i, -1] = 1
                    sizes.update({(kind, i, axis): n for axis, n in enumerate(test[name].shape)})
            ins, outs = ins + (word in TAKEN), outs + (word in MADE)
        return sizes

    def sizes_of_one(self, points: list, whole: list[str]) -> dict[tuple, str]:
        """How sizes follow where those of outputs depend on several numbers at once. A format whose reference
        makes its outputs can find out for the numbers of one test."""
        raise Refused("the size of a tensor follows from the numbers in a way that triad does not find")

    def is_alias(self, name: str) -> bool:
        """Whether an extra parameter equals a size in every test. The reference does not get it: it can
        be nothing but that, what follows from sizes, or the same everywhere."""
        if (name, "extra") not in self.signature or len({test[name] for test in self.tests}) == 1:
            return False
        sizes = [({n: test[n] for n in self.free}, {("extra",): test[name]}) for test in self.tests]
        found = problem_sizes.fitted(sizes, self.free)["extra",]
        if found is None:
            raise Refused(f"its parameter {name} differs from test to test, and follows from none of its "
                          "sizes")
        if found in self.free:
            self.aliases[name] = found
            return True
        self.counted[name] = found
        return False

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
        seen = {(n, self.constants[n]) for n in self.others if n not in self.counted}
        tests = sorted(self.tests, key=lambda test: sum(test[n] for n in self.free))
        own = {**self.constants, **self.own, **self.timed_numbers}
        for test in [own, *tests]:
            numbers = {n: test[n] for n in self.others if n not in self.counted}
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
            try:  # it asserts what it does not take
                self.call(self.model(values, 0), self.inputs(values, 0))
            except RuntimeError as e:
                if "can't allocate memory" not in str(e):
                    raise
        return sizes

    def tensors(self) -> None:
        self.arguments, self.input_names, self.scalars, self.first = [], [], {}, []
        self.outputs, self.output_names = [], []
        self.tensor_names = [name for name, word in self.signature if word in TAKEN]
        self.spec_names = {name: self.names.take(name) for name, _ in self.signature}
        for name, word in self.signature:
            value = self.tests[0][name]
            if word in NUMBERS:
                continue
            if value.dtype != self.kinds[name]:
                raise Refused(f"its tensor {name} is of {value.dtype}, and its signature says another type")
            if word in TAKEN:
                self.first.append(value)
                self.input_names.append(self.spec_names[name])
            if word in MADE:
                self.outputs.append(value)
                self.output_names.append(self.spec_names[name])
            if word == "inout":
                self.output_names[-1] = self.names.take(f"{name}_out")
                self.in_place[self.output_names[-1]] = self.spec_names[name]
        self.dtype = self.dtype_of()
        self.recipes = [self.recipe_of(name) for name in self.tensor_names]
        self.places = list(range(len(self.first)))
        self.held = set(self.implied())
        self.spec_names.update({n: self.names.take(n) for n in self.implied()})
        self.dims = {n: self.spec_names[n] for n in self.free}
        if not self.free:
            raise Refused("none of its numbers is a size")

    def dtype_of(self) -> torch.dtype:
        """The dtype of the operator: that of its first input of floats, or, where it computes with integers
        alone, that of its first output."""
        floats = [t.dtype for t in self.first if t.is_floating_point()]
        if not self.outputs or not self.first:
            raise Refused("it has no tensor as an input, or none as an output")
        if not floats and not any(t.is_floating_point() for t in self.outputs):
            return self.outputs[0].dtype
        if not floats:
            raise Refused("its outputs are floating-point numbers, and none of its inputs is")
        if any(t.is_floating_point() and t.dtype != floats[0] for t in self.outputs):
            raise Refused("its outputs are not of the dtype of its first input")
        if floats[0] not in problem_describe.TOLERANCE:
            raise Refused(f"its inputs are of {floats[0]}: want fp32 or fp16")
        return floats[0]

    def recipe_of(self, name: str) -> dict[str, Any]:
        """How an input is drawn."""
        if (name, "sizes") in self.signature:
            return {"sizes": [n if n in self.free else str(self.tests[0][n]) for n in self.implied(name)]}
        looked = [test[name] for test in self.looked if test[name].numel()]
        if looked and not looked[0].is_floating_point():
            if bound := self.bound_of(name):
                return {**problem_recipes.range_of(looked), "below": bound}
        found = problem_recipes.range_of(looked) if self.by_hand else problem_recipes.of(looked)
        if not self.by_hand and self.kinds[name].is_floating_point and (counter := self.counter_of(name)):
            return {**found, "structure": "nonzero", "count": counter}
        return found

    def counter_of(self, name: str) -> str:
        """The number that counts the elements of an input that are not 0 in every test, "" for none."""
        counts = [int(test[name].count_nonzero()) for test in self.looked]
        for n in self.others:
            if n not in self.counted and len({*counts}) > 1 and counts == [t[n] for t in self.looked]:
                i = self.tensor_names.index(name)
                sizes = [self.expressions["input", i, axis] for axis in range(self.tests[0][name].dim())]
                self.counted[n] = f"ceildiv({' * '.join(sizes)}, 3)"
                return n
        return ""

    def implied(self, name: str = "") -> list[str]:
        """Numbers that are no parameters: what tensors of sizes hold, or the one of a name."""
        return [f"{n}_{i}" for n, word in self.signature if word == "sizes" and name in ("", n)
                for i in range(self.tests[0][n].numel())] + ([] if name else self.shown)

    def tested(self) -> list[dict[str, int]]:
        return [{n: test[n] for n in self.free} for test in self.tests]

    def shapes_of_ours(self, most: int) -> list[dict[str, int]]:
        """A number of 0 is judged where a test has one: the problem may rule it out."""
        zero = {n for n in self.free if any(test[n] == 0 for test in self.tests)}
        return [values for values in super().shapes_of_ours(most)
                if all(n in zero for n, value in values.items() if value == 0)]

    # ---- running it

    def inputs(self, values: dict[str, Any], seed: int) -> list:
        random = torch.Generator().manual_seed(seed)
        shapes = [[problem_sizes.value_of(self.expressions["input", i, axis], values)
                   for axis in range(first.dim())] for i, first in enumerate(self.first)]
        return [problem_recipes.drawn(recipe, shape, first.dtype, self.model(values, 0), random)
                for recipe, shape, first in zip(self.recipes, shapes, self.first)]

    def draws(self) -> list[list[list]]:
        """Those of the tests: inputs() draws others."""
        if self.by_hand:
            return []
        tests = [[test[name] for name in self.tensor_names] for test in self.looked]
        small = [d for d in tests if sum(t.numel() for t in d) <= problem_describe.MOST_CHECKED_ELEMENTS]
        return [small or tests[:1]]

    def bound_of(self, name: str) -> str:
        """The size that the integers of an input stay below in every test; "" for none."""
        tests = [test for test in self.looked if test[name].numel()]
        most = [int(test[name].long().max()) for test in tests]
        if min(int(test[name].long().min()) for test in tests) < 0:
            return ""
        # many integers that all stay far below a size have a range of their own
        return next((n for n in self.free
                     if max(top - test[n] + 1 for top, test in zip(most, tests)) == 0
                     and not any(2 * top < test[n] - 1 and test[name].numel() >= LEAST_SHOWN
                                 for top, test in zip(most, tests))), "")

    def classes(self, i: int, samples: list) -> str:
        bound = self.recipes[i].get("below")
        if not bound or self.recipes[i].get("structure"):
            raise Refused("an input holds integers whose range follows from none of its sizes")
        return self.dims[bound]

    def model(self, values: dict[str, Any], seed: int) -> Any:
        return {**self.constants, **values,
                **{n: problem_sizes.value_of(count, values) for n, count in self.counted.items()}}

    def shapes_of(self, values: dict[str, Any]) -> list[list[int]]:
        return [[problem_sizes.value_of(self.expressions["output", i, axis], values)
                 for axis in range(t.dim())] for i, t in enumerate(self.outputs)]

    def gradient_trouble(self, distribution: str, values: dict[str, int]) -> str:
        return "the format has none"

    # ---- the words

    def parameter(self, name: str, plan: dict[str, Any]) -> str:
        """What a parameter stands for: a tensor, a size, or the attribute that equals a size that no input
        shows."""
        place = plan["constants"].get(name) or {}
        return place.get("attribute", self.spec_names[name])

    def named(self, constant: str) -> str:
        return self.spec_names[constant]

    def description(self) -> dict[str, Any]:
        found = super().description()
        plan = found["plan"]
        for attribute in found["attributes"]:
            for n, count in self.counted.items():
                if attribute["name"] == self.spec_names[n]:
                    attribute["default"] = self.renamed(count)
        plan["signature"] = self.signature
        plan["parameters"] = [self.parameter(self.aliases.get(name, name), plan)
                              for name, _ in self.signature]
        plan["recipes"] = self.recipes
        plan["input_dtypes"] = [problem_describe.NAMES[t.dtype] for t in self.first]
        plan["output_dtypes"] = [problem_describe.NAMES[t.dtype] for t in self.outputs]
        plan["output_shapes"] = [[self.expressions["output", i, axis] for axis in range(t.dim())]
                                 for i, t in enumerate(self.outputs)]
        return found
