"""Describes a problem in the format of FlashInfer Trace as an operator. Its sizes are the axes that vary; the
definition says how shapes follow from them. Its own sizes are those of its first workload."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import torch

import problem_describe
import problem_flashinfer as flashinfer
import problem_sizes
from problem_fills import DRAWN, reason
from problem_inspect import Refused, line

MOST_ELEMENTS = 20 << 20
"""Of the tensors of a shape of ours: the axes that do not vary may be large."""

MANY_SHAPES, FEW = 1 << 19, 3
"""Of larger shapes there are at most so many."""

USUAL = 16
"""A size of a definition without workloads."""

OTHER_SIZES = (5, 1, 33, 0, 17, 65, 128, 1025)
"""Sizes of ours."""

REAL = ("float32", "float16", "bfloat16")


def describe(path: str) -> dict[str, Any]:
    """The description; Refused where there is none."""
    return _Definition(Path(path)).result()


class _Definition(problem_describe.Description):
    """A definition while it is described."""

    can_draw = True

    def begin(self) -> None:
        workloads = self.path.parent / flashinfer.WORKLOADS
        text = workloads.read_text(encoding="utf-8", errors="replace") if workloads.exists() else ""
        try:
            self.found = flashinfer.Definition(self.text, text, str(self.path))
        except flashinfer.NoDefinition as e:
            raise Refused(line(e)) from e
        except SyntaxError as e:
            raise Refused(f"line {e.lineno} of its reference is no Python: {e.msg}") from e
        except Exception as e:
            raise Refused(reason("importing its reference", e)) from e

    def result(self) -> dict[str, Any]:
        self.workloads()
        self.sizes_of()
        self.tensors()
        small = next(self.proposed())
        if problem_sizes.elements(self.probes.at(small)) <= MOST_ELEMENTS:
            try:
                with torch.no_grad():
                    self.call(small, self.inputs(small, 0))
            except Refused:
                raise
            except Exception as e:
                raise Refused(reason("calling its reference", e)) from e
        return self.finished()

    def workloads(self) -> None:
        """The sizes and numbers of the workloads whose tensors are random."""
        found, files = self.found, set()
        self.free = [name for name, value in found.axes.items() if value is None]
        self.called: list[dict[str, int]] = []
        self.numbers: list[dict[str, Any]] = []
        scalars = [name for name, t in found.inputs.items() if t["shape"] is None]
        for workload in found.workloads:
            given = workload.get("inputs") or {}
            read = {name for name, how in given.items() if how.get("type") == "safetensors"}
            if read:
                files |= read
                continue
            sizes = {name: workload["axes"].get(name) for name in self.free}
            numbers = {name: given.get(name, {}).get("value") for name in scalars}
            if any(type(v) is not int for v in sizes.values()) or any(
                    type(v) not in (int, float, bool) for v in numbers.values()):
                raise Refused("a workload of it lacks the size of an axis or the value of a number")
            if sizes not in self.called:
                self.called.append(sizes)
                self.numbers.append(numbers)
        if not self.called and (files or scalars):
            what = ", ".join(sorted(files) or scalars)
            raise Refused(f"each of its workloads reads {what} from a file of safetensors, and what is in "
                          "such a file is not known here" if files else
                          f"it has no workload, which would say what {what} is")
        if files and self.called:
            self.notes.append(f"It is judged without the workloads that read {', '.join(sorted(files))} from "
                              "files of safetensors.")
        if not self.called:
            whole = [n for n, t in found.inputs.items() if t["dtype"] not in (*REAL, "float8_e4m3fn",
                                                                              "float8_e5m2")]
            if whole:
                raise Refused(f"it has no workload, and its input {whole[0]} holds integers, of which only a "
                              "workload says what they may be")
            self.notes.append(f"It has no workload: its own sizes are taken to be {USUAL}.")
            self.called, self.numbers = [dict.fromkeys(self.free, USUAL)], [{}]
        self.scalars = self.numbers[0]
        if any(numbers != self.scalars for numbers in self.numbers):
            both = [(c, n) for c, n in zip(self.called, self.numbers) if n == self.scalars]
            self.notes.append(f"It is judged with the numbers of its first workload alone, which {len(both)} "
                              f"of {len(self.called)} workloads have.")
            self.called, self.numbers = [c for c, _ in both], [n for _, n in both]

    def sizes_of(self) -> None:
        """How the sizes of tensors follow from the axes."""
        found = self.found
        self.expressions = {}
        self.tensor_names = [name for name, t in found.inputs.items() if t["shape"] is not None]
        for kind, stated in (("input", [found.inputs[n] for n in self.tensor_names]),
                             ("output", list(found.outputs.values()))):
            for i, t in enumerate(stated):
                self.expressions[kind, i, -1] = "1"
                self.expressions.update({
                    (kind, i, axis): name if found.axes[name] is None else str(found.axes[name])
                    for axis, name in enumerate(t["shape"] or ())})
        shown = {e for (kind, _, _), e in self.expressions.items() if kind == "input"}
        for name in self.free:
            if name not in shown:
                raise Refused(f"its axis {name} shows in no input")
        self.own = self.called[0]
        self.constants: dict[str, Any] = dict(self.own)
        self.moving: list[str] = []
        self.probes = problem_sizes.Probes(self.evaluated, self.own)

    def evaluated(self, values: dict[str, int]) -> problem_sizes.Sizes:
        return {slot: problem_sizes.value_of(e, values) for slot, e in self.expressions.items()}

    def proposed(self) -> Iterator[dict[str, int]]:
        """Few shapes where all are large."""
        large = problem_sizes.elements(self.evaluated(dict.fromkeys(self.free, 1))) > MANY_SHAPES
        return itertools.islice(self.sizes_in_order(), FEW if large else None)

    def sizes_in_order(self) -> Iterator[dict[str, int]]:
        """The smallest workload, other sizes, more workloads, and one size after the other."""
        small = sorted(self.called, key=lambda v: sum(v.values()))
        yield from small[:1]
        first = {name: (5, 7, 3, 9)[i % 4] for i, name in enumerate(self.free)}
        yield first
        yield from small[1:4]
        for name in self.free:
            for size in OTHER_SIZES:
                yield {**first, name: size}

    def chosen_shapes(self) -> None:
        least = problem_sizes.elements(self.evaluated(dict.fromkeys(self.free, 1)))
        if least > MOST_ELEMENTS:
            raise Refused(f"its axes that do not vary give its tensors at least {least} elements, and triad "
                          f"judges shapes of at most {MOST_ELEMENTS}")
        super().chosen_shapes()

    def shapes_of_ours(self, most: int) -> list[dict[str, int]]:
        """Where axes that do not vary are large, so are all shapes."""
        return super().shapes_of_ours(max(most, MOST_ELEMENTS))

    # ---- the tensors

    def tensors(self) -> None:
        found = self.found
        self.arguments, self.input_names, self.first, self.outputs = [], [], [], []
        names = {name: self.names.take(name) for name in [*found.inputs, *found.outputs]}
        self.scalars = {names[name]: int(value) if type(value) is bool else value
                        for name, value in self.scalars.items()}
        self.numbers = [{names[n]: v for n, v in numbers.items()} for numbers in self.numbers]
        for name, t in found.inputs.items():
            if t["shape"] is None:
                self.arguments.append({"attribute": names[name]})
                continue
            self.arguments.append({"input": len(self.first)})
            self.input_names.append(names[name])
            self.first.append(torch.empty((1,) * len(t["shape"]), dtype=flashinfer.DTYPES[t["dtype"]]))
        self.output_names = [names[name] for name in found.outputs]
        if not self.first:
            raise Refused("none of its inputs is a tensor")
        for name, t in found.outputs.items():
            if t["dtype"] not in REAL:
                raise Refused(f"its output {name} is of {t['dtype']}: triad imports problems whose outputs "
                              "are floating-point numbers of 16 or 32 bits alone")
            self.outputs.append(torch.empty((1,) * len(t["shape"] or ()),
                                            dtype=flashinfer.DTYPES[t["dtype"]]))
        self.dtype = self.outputs[0].dtype
        self.places = list(range(len(self.first)))
        self.dims = {name: self.names.take(name) for name in self.free}
        if not self.free:
            self.dims = {"": self.names.take("n")}

    def integers(self, i: int, samples: list) -> str:
        return DRAWN

    def classes(self, i: int, samples: list) -> str:
        raise Refused("integers are drawn as the benchmark draws them")

    # ---- running it

    def inputs(self, values: dict[str, int], seed: int) -> list:
        return self.found.drawn({**self.own, **values}, torch.Generator().manual_seed(seed))

    def model(self, values: dict[str, int], seed: int) -> Any:
        return values

    def given(self, tensors: list) -> list:
        """The arguments of the reference."""
        return [tensors[a["input"]] if "input" in a else self.scalars[a["attribute"]]
                for a in self.arguments]

    def call(self, model: Any, inputs: list) -> list[torch.Tensor]:
        return [v.clone() for v in self.answered(inputs)]

    def answered(self, tensors: list) -> tuple:
        value = self.found.answer(self.given(tensors))
        if len(value) != len(self.outputs) or not all(isinstance(v, torch.Tensor) for v in value):
            raise Refused(f"its reference returns {len(value)} values, and its outputs are "
                          f"{len(self.outputs)}")
        return value

    def reference(self, model: Any, inputs: list) -> Callable:
        def run(*tensors: torch.Tensor) -> Any:
            value = self.answered([t.clone() for t in tensors])
            return value if len(value) > 1 else value[0]
        return run

    def accepts(self, values: dict[str, int], answer: list, value: list) -> bool:
        return all(flashinfer.matches(a, b) for a, b in zip(answer, value))

    def their_check(self) -> dict[str, float]:
        return {"atol": flashinfer.TOLERANCE, "rtol": flashinfer.TOLERANCE}

    def gradient_trouble(self, distribution: str, values: dict[str, int]) -> str:
        return "the format has none"

    # ---- the words

    def description(self) -> dict[str, Any]:
        found = super().description()
        rooms = [[[self.expressions["output", i, axis] for axis in range(t.dim())] or ["1"],
                  str(t.dtype).removeprefix("torch.")] for i, t in enumerate(self.outputs)]
        found["plan"].update(tests=self.called, numbers=self.numbers, rooms=rooms)
        return found
