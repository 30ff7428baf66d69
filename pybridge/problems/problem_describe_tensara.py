"""Describes a problem in the format of Tensara as an operator. Its tests are large: shapes are found without
their elements, and only the smallest tests are drawn."""

from __future__ import annotations

import ctypes
import time
from pathlib import Path
from typing import Any, Callable

import torch

import problem_describe_function as function
import problem_sizes
import problem_structure
import problem_tensara as tensara
from problem_devices import On
from problem_fills import reason
from problem_inspect import Refused

MOST_DRAWN_ELEMENTS = 1 << 27
"""Of the tensors of a test that is drawn to look at its elements."""

MOST_CALLED_ELEMENTS, MOST_SECONDS = 1 << 24, 10.0
"""Of a test of which a reference needs the elements to say how large its answer is, and the processor time
that it may be expected to take: that of the test before times the square of how much larger it is."""

DRAWN = 2
"""Tests that are drawn."""


def describe(path: str) -> dict[str, Any]:
    """The description; Refused where there is none."""
    return _Problem(Path(path)).result()


class _Problem(function.Function):
    """A problem while it is described."""

    def look(self) -> None:
        try:
            self.found = tensara.problem(self.text, str(self.path))
            self.parameters = list(self.found.parameters)
        except Exception as e:
            raise Refused(reason("importing it", e)) from e
        self.kinds = {}
        for p in self.parameters:
            if p["pointer"] and p["type"] not in tensara.DTYPES:
                raise Refused(f"its parameter {p['name']} is a pointer to {p['type']}, which is not imported")
            number = ctypes.c_float if p["type"] in ("float", "double") else ctypes.c_int
            self.kinds[p["name"]] = tensara.DTYPES[p["type"]] if p["pointer"] else number

    def tests_of(self) -> None:
        """The problem's own tests without their elements, and some with them."""
        try:
            with On("cpu"):
                cases = list(self.found.generate_test_cases())
                sample = self.found.generate_sample()
        except Exception as e:
            raise Refused(reason("its generate_test_cases", e)) from e
        samples = sample if isinstance(sample, list) else [sample]
        self.signature, self.tests, self.pace = [], [], 0.0
        found = [(case, test) for case in cases if (test := self.large(case))]
        cases = [case for case, _ in found]
        self.tests = [test for _, test in found]
        self.tests += [self.test_of(*self.drawn_on("cpu", case)) for case in samples]
        smallest = sorted(range(len(cases)), key=lambda i: self.elements(self.tests[i]))[:DRAWN]
        self.looked = []
        for i in [*smallest, *range(len(cases), len(self.tests))]:
            if self.elements(self.tests[i]) <= MOST_DRAWN_ELEMENTS:
                with On("cpu"):
                    drawn = [*cases, *samples][i]["create_inputs"]()
                inputs = [problem_structure.sampled(t) if isinstance(t, torch.Tensor) else t for t in drawn]
                names = [name for name, word in self.signature if word in ("input", "number")]
                self.looked.append({**self.tests[i], **dict(zip(names, inputs))})
            if len(self.looked) == DRAWN:
                break  # the sample is made by hand, and looked at where too few others can be drawn
        self.by_hand = not smallest or self.elements(self.tests[smallest[0]]) > MOST_DRAWN_ELEMENTS
        if self.by_hand:
            self.notes.append("Its tests are too large to look at their elements.")

    def large(self, case: dict[str, Any]) -> dict[str, Any]:
        """A test, without its elements; an empty one where it is too large for a reference that needs
        them."""
        try:
            return self.test_of(*self.drawn_on("meta", case))
        except Refused:
            inputs, extras = self.drawn_on("cpu", case)  # what it draws may follow from what it drew
        try:
            return self.test_of([v.to("meta") if isinstance(v, torch.Tensor) else v for v in inputs], extras)
        except Refused:
            elements = sum(v.numel() for v in inputs if isinstance(v, torch.Tensor))
        if elements > MOST_CALLED_ELEMENTS or self.pace * elements ** 2 > MOST_SECONDS:
            return {}
        begun = time.process_time()
        test = self.test_of(inputs, extras)
        self.pace = (time.process_time() - begun) / max(elements, 1) ** 2
        return test

    def drawn_on(self, device: str, case: dict[str, Any]) -> tuple[list, list]:
        """The arguments of a test, and its extra ones."""
        try:
            with On(device):
                inputs = list(case["create_inputs"]())
            with On("cpu"):
                return inputs, list(self.found.get_extra_params(case))
        except Exception as e:
            raise Refused(reason("drawing its inputs", e)) from e

    def test_of(self, inputs: list, extras: list) -> dict[str, Any]:
        """A test, without its elements."""
        test = self.test(inputs, extras)
        sizes = [name for name, word in self.signature if word == "sizes"]
        return {name: value.to("meta") if isinstance(value, torch.Tensor) and name not in sizes else value
                for name, value in test.items()}

    def test(self, inputs: list, extras: list) -> dict[str, Any]:
        """A test by its parameters."""
        words = ["input" if isinstance(value, torch.Tensor) else "number" for value in inputs]
        outputs = len(self.parameters) - len(inputs) - len(extras)
        words += ["output"] * outputs
        words += ["sizes" if isinstance(value, torch.Tensor) else "extra" for value in extras]
        signature = [(p["name"], word) for p, word in zip(self.parameters, words)]
        if outputs < 1 or any(p["pointer"] != (word not in function.NUMBERS)
                              for p, word in zip(self.parameters, words)):
            raise Refused("its parameters are not its inputs, outputs and numbers in that order")
        if self.signature and self.signature != signature:
            raise Refused("its tests have inputs of different kinds")
        self.signature = signature
        given = dict(zip([name for name, _ in signature], [*inputs, *[None] * outputs, *extras]))
        tensors = tuple(value for value in inputs if isinstance(value, torch.Tensor))
        for name, word in signature:
            if word == "sizes":  # the numbers in it are sizes of their own
                given[name] = given[name].to(self.kinds[name])
                given.update({f"{name}_{i}": n for i, n in enumerate(given[name].tolist())})
        return {**given, **self.made(tensors, given)}

    def made(self, tensors: tuple, values: dict[str, Any]) -> dict[str, torch.Tensor]:
        """The outputs by their names, without elements where the inputs have none."""
        names = [name for name, word in self.signature if word == "output"]
        try:
            value = tensara.answer(self.found, self.signature, tensors, values)
        except Exception as e:
            raise Refused(reason("calling it", e)) from e
        if len(value) != len(names) or not all(isinstance(v, torch.Tensor) for v in value):
            raise Refused(f"its reference returns {len(value)} values, and it has {len(names)} outputs")
        return dict(zip(names, value))

    def elements(self, test: dict[str, Any]) -> int:
        return sum(test[name].numel() for name, word in self.signature if word == "input")

    def timed(self) -> dict[str, Any]:
        return self.tests[0]

    def sizes_of_one(self, points: list, whole: list[str]) -> dict[tuple, str]:
        found = problem_sizes.fitted(points, whole)
        inputs = {slot: e for slot, e in found.items() if slot[0] == "input"}
        if None in inputs.values():
            return super().sizes_of_one(points, whole)
        free = [n for n in whole if n in problem_sizes.names_in(" ".join(inputs.values()))]
        kept = {n: self.tests[0][n] for n in whole if (n, "number") in self.signature and n not in free}
        numbers = {n: value for n, value in self.tests[0].items()
                   if not isinstance(value, torch.Tensor) or (n, "sizes") in self.signature}
        dtypes = [self.kinds[name] for name, word in self.signature if word == "input"]

        def run(values: dict[str, int]) -> problem_sizes.Sizes:
            tensors = tuple(
                torch.empty([problem_sizes.value_of(e, values) for (_, k, axis), e in inputs.items()
                             if k == i and axis >= 0], dtype=dtype, device="meta")
                for i, dtype in enumerate(dtypes))
            names = [name for name, word in self.signature if word == "input"]
            test = {**numbers, **values, **dict(zip(names, tensors))}
            return self.sizes_in({**test, **self.made(tensors, test)})

        probes = problem_sizes.Probes(run, {n: self.tests[0][n] for n in free})
        used, found = problem_sizes.expressions(probes, problem_sizes.vary(probes))
        if used != free:
            return super().sizes_of_one(points, whole)
        self.tests = [test for test in self.tests if all(test[n] == value for n, value in kept.items())]
        words = ", ".join(f"{n} = {value}" for n, value in kept.items())
        self.notes.append(f"It is judged with {words} alone: sizes follow from these numbers in a way that "
                          "triad does not find.")
        return found

    # ---- running it

    def call(self, model: Any, inputs: list) -> list[torch.Tensor]:
        return list(tensara.answer(self.found, self.signature, tuple(inputs), model))

    def reference(self, model: Any, inputs: list) -> Callable:
        def run(*tensors: torch.Tensor) -> Any:
            value = tensara.answer(self.found, self.signature, tensors, model)
            return value if len(value) > 1 else value[0]
        return run

    def is_constant(self) -> bool:
        """Whether its answer to its sample does not depend on the order of the elements either."""
        sample = self.found.generate_sample()
        case = sample[0] if isinstance(sample, list) else sample
        try:
            with On("cpu"):
                inputs = list(case["create_inputs"]())
            names = [name for name, word in self.signature if word in ("input", "number")]
            numbers = dict(zip(names, inputs))
            tensors = [t for t in inputs if isinstance(t, torch.Tensor)]
            answers = [tensara.answer(self.found, self.signature, tuple(given), numbers)
                       for given in (tensors, [t.flatten().flip(0).reshape(t.shape) for t in tensors],
                                     [torch.zeros_like(t) for t in tensors])]
        except Exception:
            return False
        return all(torch.equal(a, b) for other in answers[1:] for a, b in zip(answers[0], other))

    def accepts(self, values: dict[str, int], answer: list, value: list) -> bool:
        """The problem judges with a method of its own."""
        several = len(value) > 1
        try:
            found = self.found.verify_result(tuple(value) if several else value[0],
                                             tuple(answer) if several else answer[0])
        except Exception:
            return False
        return bool(found[0] if isinstance(found, tuple) else found)

    def their_check(self) -> dict[str, Any]:
        return {"method": "verify_result"}
