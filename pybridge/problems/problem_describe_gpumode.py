"""Describes a problem in the format of GPU MODE as an operator. Its sizes are arguments of generate_input();
how the shapes of tensors follow from them, calls with other arguments show."""

from __future__ import annotations

import inspect
import itertools
from pathlib import Path
from typing import Any, Callable

import torch
import yaml

import problem_describe
import problem_gpumode as gpumode
import problem_sizes
from problem_devices import On
from problem_fills import reason
from problem_inspect import Refused, line
from problem_seed import seed_torch
from tensors import NAMES


def describe(path: str) -> dict[str, Any]:
    """The description; Refused where there is none."""
    return _Task(Path(path)).result()


class _Task(problem_describe.Description):
    """A task while it is described."""

    can_draw = True

    def begin(self) -> None:
        self.constants: dict[str, Any] = {}

    def result(self) -> dict[str, Any]:
        self.look()
        self.data_of()
        self.sizes_of()
        self.tensors()
        self.rooms()
        start = {n: self.least[n] for n in self.free}
        self.probes = problem_sizes.Probes(self.evaluated, self.own, start)
        return self.finished()

    def look(self) -> None:
        """Reads task.yml, and imports the reference."""
        try:
            task = yaml.safe_load(self.text)
        except yaml.YAMLError as e:
            raise Refused(f"its task.yml is no YAML: {line(e)}") from e
        if not isinstance(task, dict) or not isinstance(task.get("tests"), list) or not task["tests"]:
            raise Refused("its task.yml has no list of tests")
        if task.get("lang", "py") != "py":
            raise Refused(f"its submissions are of the language {task['lang']}: triad imports those of "
                          "Python")
        if task.get("multi_gpu"):
            raise Refused("it needs several GPUs")
        texts = {path.name: path.read_text(encoding="utf-8-sig", errors="replace")
                 for path in self.path.parent.glob("*.py")}
        try:
            with On("cpu"):
                self.module = gpumode.reference_of(texts, self.path.parent)
        except Exception as e:
            raise Refused(reason("importing it", e)) from e
        for name in ("generate_input", "ref_kernel", "check_implementation"):
            if not callable(getattr(self.module, name, None)):
                raise Refused(f"its reference.py defines no {name}, which the format has")
        self.takes_seed = "seed" in inspect.signature(self.module.generate_input).parameters
        benchmarks = task.get("benchmarks") or []
        self.cases = [{k: v for k, v in case.items() if k != "seed"}
                      for case in [*task["tests"], *benchmarks]]
        self.tests = len(task["tests"])

    def data_of(self) -> None:
        """Chooses the case whose arguments are varied: the smallest of those whose arguments other
        than integers are those of the first benchmark."""
        def size(case: dict[str, Any]) -> int:
            return sum(v for v in case.values() if type(v) is int)

        def others(case: dict[str, Any]) -> dict[str, Any]:
            return {n: v for n, v in case.items() if type(v) is not int}
        timed = self.cases[self.tests:][:1] or self.cases[:1]
        least = min((case for case in [*self.cases[:self.tests], *timed] if others(case) == others(timed[0])),
                    key=size)
        self.least = {n: v for n, v in least.items() if type(v) is int and v > 0}
        self.fixed = {n: v for n, v in least.items() if n not in self.least}
        try:
            data = self.generated(self.least, problem_describe.SEED)
        except Exception as e:
            raise Refused(reason("its generate_input", e)) from e
        self.form = gpumode.template(data, itertools.count())
        self.example = gpumode.leaves(data)

    def generated(self, values: dict[str, int], seed: int) -> Any:
        arguments = {**self.fixed, **values}
        if self.takes_seed:
            arguments["seed"] = seed
        seed_torch(seed)
        with On("cpu"):
            return self.module.generate_input(**arguments)

    def answered(self, values: list) -> tuple[torch.Tensor, ...]:
        with torch.no_grad():
            found = gpumode.answer(self.module, self.form, values)
        if not all(isinstance(v, torch.Tensor) for v in found):
            raise Refused("its reference returns something that is no tensor")
        return found

    def sizes_of(self) -> None:
        """How shapes follow from the arguments."""
        self.seen: list[tuple[dict[str, int], list]] = []

        def run(values: dict[str, int]) -> problem_sizes.Sizes:
            found = gpumode.leaves(self.generated(values, 0))
            outputs = self.answered(problem_describe.copied(found))
            self.seen.append((values, [v for v in found if not isinstance(v, torch.Tensor)]))
            sizes = {}
            for kind, tensors in (("input", found), ("output", outputs)):
                for i, t in enumerate(tensors):
                    if isinstance(t, torch.Tensor):
                        sizes[kind, i, -1] = 1
                        sizes.update({(kind, i, axis): n for axis, n in enumerate(t.shape)})
            return sizes
        try:
            probes = problem_sizes.Probes(run, self.least)
        except Refused:
            raise
        except Exception as e:
            raise Refused(reason("calling it", e)) from e
        moving = problem_sizes.vary(probes)
        self.free, self.expressions = problem_sizes.expressions(probes, moving)
        if not self.free:
            raise Refused("none of the arguments of generate_input is a size")
        self.moving = [n for n in moving if n not in self.free]
        rest = {n: v for n, v in self.least.items() if n not in self.free}
        timed = [*self.cases[self.tests:], *self.cases[:self.tests]]
        same = [case for case in timed if all(case.get(n) == v for n, v in {**rest, **self.fixed}.items())
                and all(type(case.get(n)) is int for n in self.free)]
        self.own = {n: same[0][n] for n in self.free}
        self.called = [{n: case[n] for n in self.free} for case in same]
        self.constants = {n: self.own.get(n, v) for n, v in self.least.items()}
        if len(same) < len(self.cases):
            words = ", ".join(f"{n} = {v}" for n, v in {**rest, **self.fixed}.items())
            self.notes.append(f"It is judged with {words} alone, as {len(same)} of its {len(self.cases)} "
                              "cases have it.")

    def evaluated(self, values: dict[str, int]) -> problem_sizes.Sizes:
        sizes = {slot: problem_sizes.value_of(e, values) for slot, e in self.expressions.items()}
        if min(sizes.values()) < 0:
            raise ValueError("a size below 0")
        if problem_sizes.elements(sizes) <= problem_sizes.MOST_ELEMENTS:
            found = self.call(self.model(values, 0), self.inputs(values, 0))
            for i, t in enumerate(found):
                if any(sizes["output", i, axis] != n for axis, n in enumerate(t.shape)):
                    raise ValueError("another shape")
        return sizes

    # ---- the tensors

    def tensors(self) -> None:
        self.outputs = list(self.answered(problem_describe.copied(self.example)))
        if not all(v.dtype in NAMES for v in self.outputs):
            raise Refused("an output is of a dtype that triad has no name for")
        floats = [t.dtype for t in self.example if isinstance(t, torch.Tensor) and t.is_floating_point()]
        if not floats and any(v.is_floating_point() for v in self.outputs):
            raise Refused("its outputs are floating-point numbers, and none of its inputs is")
        self.dtype = floats[0] if floats else self.outputs[0].dtype
        if floats and self.dtype not in problem_describe.TOLERANCE:
            raise Refused(f"its inputs are of {self.dtype}: want fp32, fp16 or bf16")
        self.places = [i for i, t in enumerate(self.example) if isinstance(t, torch.Tensor)]
        last = self.places[-1]
        if len(self.places) > 1 and self.is_room(last):
            self.places.remove(last)
            self.room = last
        else:
            self.room = -1
        self.first = [self.example[i] for i in self.places]
        for t in self.first:
            if t.dtype not in NAMES:
                raise Refused(f"an input is of {t.dtype}, which triad has no name for")
        words = self.words(self.form)
        self.input_names = [self.names.take(words[i]) for i in self.places]
        self.output_names = [self.names.take("y" if len(self.outputs) == 1 else f"y{i}")
                             for i in range(len(self.outputs))]
        self.dims = {n: self.names.take(n) for n in self.free}
        for n in self.free:
            if not any(e == n for (kind, i, _), e in self.expressions.items()
                       if kind == "input" and i in self.places):
                raise Refused(f"its size {n} shows in no input")
        self.arguments, self.scalars = [], {}

    def words(self, form: Any) -> list[str]:
        """Names for the leaves: keys of dictionaries, or their places."""
        found: dict[int, str] = {}

        def name(part: Any, word: str) -> None:
            if isinstance(part, int):
                found[part] = word or "x"
                return
            (kind, parts), = part.items()
            for i, inner in enumerate(parts):
                name(inner[1] if kind == "dict" else inner, str(inner[0]) if kind == "dict"
                     else f"{word or 'x'}{i}")
        name(form, "")
        return [found[i] for i in range(len(found))]

    def is_room(self, place: int) -> bool:
        """Whether a tensor is room for the output: as large, and the reference never reads it."""
        t = self.example[place]
        if len(self.outputs) != 1 or t.dtype != self.outputs[0].dtype or t.numel() != self.outputs[0].numel():
            return False
        values = problem_describe.copied(self.example)
        values[place] = torch.full_like(t, gpumode.poison(t.dtype))
        return torch.equal(self.answered(values)[0], self.outputs[0])

    def rooms(self) -> None:
        """What each leaf is in a call."""
        self.plan_leaves, others = [], itertools.count()
        for i, value in enumerate(self.example):
            if i == self.room:
                shape = [self.expressions["input", i, axis] for axis in range(value.dim())]
                self.plan_leaves.append({"room": shape, "dtype": str(value.dtype).removeprefix("torch.")})
            elif isinstance(value, torch.Tensor):
                self.plan_leaves.append({"input": self.places.index(i)})
            else:
                k = next(others)
                self.plan_leaves.append(self.leaf(value, [(values, found[k]) for values, found in self.seen]))

    def leaf(self, value: Any, seen: list[tuple[dict[str, int], Any]]) -> dict[str, Any]:
        """What a value is that is no tensor: the same in every call, or one of the arguments."""
        if value is not None and type(value) not in (int, float, bool, str):
            raise Refused(f"its data holds a {type(value).__name__}: tensors and numbers alone are imported")
        if all(found == value for _, found in seen):
            return {"value": value}
        for n in self.free:
            if all(found == values[n] for values, found in seen):
                return {"constant": n}
        raise Refused("its data holds a number that follows from the arguments in a way that triad does not "
                      "find")

    # ---- running it

    def inputs(self, values: dict[str, int], seed: int) -> list:
        return gpumode.leaves(self.generated(self.whole(values), seed))

    def whole(self, values: dict[str, int]) -> dict[str, int]:
        return {**self.constants, **values}

    def tested(self) -> list[dict[str, int]]:
        return self.called

    def classes(self, i: int, samples: list) -> str:
        raise Refused("an input holds integers whose range follows from none of its sizes")

    def model(self, values: dict[str, int], seed: int) -> Any:
        return values

    def call(self, model: Any, inputs: list) -> list[torch.Tensor]:
        return list(self.answered(inputs))

    def reference(self, model: Any, inputs: list) -> Callable:
        def run(*tensors: torch.Tensor) -> Any:
            values = list(inputs)
            for i, t in zip(self.places, tensors):
                values[i] = t.clone()
            if self.room >= 0:
                room = inputs[self.room]
                values[self.room] = gpumode.room_like(tensors, room.shape, room.dtype)
            return gpumode.answer(self.module, self.form, values)
        return run

    def accepts(self, values: dict[str, int], answer: list, value: list) -> bool:
        """The problem judges with a function of its own."""
        data = self.generated(self.whole(values), problem_describe.SEED)
        try:
            with On("cpu"):
                expected = self.module.ref_kernel(self.generated(self.whole(values), problem_describe.SEED))
                several = expected if isinstance(expected, (tuple, list)) else [expected]
                shaped = [a.reshape(e.shape) for a, e in zip(answer, several)]  # it may have no axes
                output = shaped[0] if len(shaped) == 1 else tuple(shaped)
                found = self.module.check_implementation(data, output)
        except Exception:
            return False
        return bool(found[0] if isinstance(found, tuple) else not found)

    def their_check(self) -> dict[str, Any]:
        return {"method": "check_implementation"}

    def gradient_trouble(self, distribution: str, values: dict[str, int]) -> str:
        return "the format has none"

    # ---- the words

    def description(self) -> dict[str, Any]:
        found = super().description()
        found["plan"].update(template=self.form, leaves=self.plan_leaves, tests=self.called,
                             fixed=self.fixed, takes_seed=self.takes_seed)
        return found
