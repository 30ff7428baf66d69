"""The data on which a published problem is judged: the rule that makes each input, and the kinds of data for
which the reference has a bounded answer."""

from __future__ import annotations

import importlib.util
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

import torch

import bounded
import error_bound
import problem_data
import problem_sizes
import problem_structure
from problem_inspect import Refused, line
from tensors import NAMES

SEED = 42
"""Of inputs and weights."""

TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 1e-2}
"""Of the format's own check, absolute and relative."""

DISTRIBUTIONS = ("normal", "scaled", "shifted", "constant", "zeros", "outlier", "row_offsets", "sparse")

MOST_SECONDS = 30.0
"""Of processor time, in which it is seen for which data and shapes the answer has a bound."""

MOST_UNDECIDED = 0.25
"""The share of integers whose choice rounding may turn, above which data says too little of them."""

DRAWN = "drawn"
"""The rule of an input that the problem itself draws, at any sizes and under any seed."""


class Data:
    """The data of a problem while it is described; problem_describe.Description explains the names."""

    can_draw = False
    """Whether the format draws inputs at other sizes than its own."""

    draws_alike = True
    """Whether inputs that are equal in its draws are so in those, too."""

    def data(self) -> None:
        """The rule that makes each input, the kinds of data that the reference has a bounded answer for, and
        whether its gradient has one."""
        self.fills, self.ranges = {}, []
        samples = [self.inputs(self.judged, seed) for seed in range(8)]
        for k, i in enumerate(self.places):
            t = samples[0][i]
            if t.dtype == torch.bool:
                self.fills[k] = "mask"
            elif not t.is_floating_point():
                self.fills[k] = self.integers(i, samples)
            elif t.dtype not in TOLERANCE and self.can_draw:  # of 8 bits
                self.fills[k] = DRAWN
        if any(fill.startswith("classes") for fill in self.fills.values()):
            self.scalars["no_class"] = -2 ** 31
        for draws in self.draws():
            self.look_at_draws(draws)
        self.uniform = [k for k, i in enumerate(self.places) if k not in self.fills and samples[0][i].numel()
                        and all(0 <= s[i].min() and s[i].max() <= 1 for s in samples)]
        problem = self.bound("normal", self.judged)
        if problem and self.uniform:
            self.fills.update({k: "uniform" for k in self.uniform})
            problem = self.bound("normal", self.judged)
        if problem and self.can_draw:
            self.fills.update({k: DRAWN for k, t in enumerate(self.first) if t.is_floating_point()})
            problem = self.bound("normal", self.judged)
        if problem and not self.judged_elsewhere():
            raise Refused(problem)
        self.differentiable = tuple(k for k, t in enumerate(self.first)
                                    if t.is_floating_point() and self.fills.get(k) != "mask")
        self.gradient = "no input is a floating-point number"
        if not all(t.is_floating_point() for t in self.outputs):
            self.gradient = "an output holds integers, which have none"
        elif self.differentiable:
            self.gradient = self.gradient_trouble("normal", self.judged)
        begun = time.process_time()
        self.distributions = ["normal"]
        if not self.keeps_its_data():
            self.distributions += self.in_time(DISTRIBUTIONS[1:],
                                               lambda name: self.bounded(name, self.judged))
        others = [values for values in self.shapes if values != self.judged]
        kept = self.in_time(others, lambda values: self.bounded("normal", values))
        self.shapes = [values for values in self.shapes if values == self.judged or values in kept]
        self.pinned = []
        pinned = self.other_numbers()
        self.in_time(pinned, lambda one: self.pin(*one))
        if time.process_time() - begun > MOST_SECONDS:
            self.notes.append("Its reference is slow: it is judged with fewer shapes and kinds of data.")

    def judged_elsewhere(self) -> bool:
        """Chooses another shape to be judged, at which the answer has a bound: the reference may have none
        where a matrix has too few rows. Whether there is one."""
        for values in sorted(self.shapes, key=lambda v: -problem_sizes.elements(self.probes.at(v))):
            if values != self.judged and not self.is_empty(values) and not self.bound("normal", values):
                self.judged = values
                return True
        return False

    def in_time(self, all_of: Iterable, holds: Callable) -> list:
        """Those for which something holds, as far as a share of the time goes."""
        until = time.process_time() + MOST_SECONDS / 3
        return [one for one in all_of if time.process_time() < until and holds(one)]

    def other_numbers(self) -> list[tuple[dict[str, Any], dict[str, int]]]:
        """Values of constants that the problem also uses, each with sizes at which it does."""
        return []

    def pin(self, numbers: dict[str, Any], sizes: dict[str, int]) -> None:
        """Has a submission judged with other numbers, at sizes that it finds; the distributions without a
        bound there are left out. Those of the timed test may need its sizes, which are judged with them."""
        self.probes.begin()
        multiples = [{**self.judged, name: times * number} for name in self.judged for times in (1, 2)
                     for number in numbers.values() if type(number) is int and 2 <= number <= 256]
        for values in (self.judged, sizes, *multiples):
            both = {**values, **numbers}
            found = self.probes.perhaps(both)
            if (found and problem_sizes.elements(found) <= problem_sizes.MOST_ELEMENTS
                    and not self.bound("normal", both)):
                self.distributions = [name for name in self.distributions
                                      if name == "normal" or self.bounded(name, both)]
                self.pinned.append((numbers, values))
                return
        if sizes == self.own:
            return
        words = ", ".join(f"{name} = {value}" for name, value in numbers.items())
        raise Refused(f"with {words}, as one of its tests has it, its answer has no bound at sizes that are "
                      "judged without a GPU")

    def draws(self) -> list[list[list]]:
        """Tensors as the problem draws them, a list for each draw: at its own sizes, as far as they can be
        computed here, and at those that are judged."""
        found = []
        for values in (self.nearly_own(), self.judged):
            drawn = [self.inputs(values, seed) for seed in (SEED, SEED + 1)]
            found.append([[inputs[i] for i in self.places] for inputs in drawn])
        return found

    def look_at_draws(self, draws: list[list]) -> None:
        """Refuses a problem whose inputs have a structure that triad's own data has not."""
        whole, draws = draws, [[problem_structure.sampled(t) for t in d] for d in draws]
        for k, name in enumerate(self.input_names):
            of_it = [d[k] for d in draws]
            found = (problem_structure.structure(of_it)
                     or problem_structure.sums_to_one([d[k] for d in whole]))
            if found == problem_structure.FEW_VALUES and problem_structure.of_zeros_and_ones(of_it):
                self.fills[k] = "mask"
            elif found and self.can_draw:
                self.fills[k] = DRAWN
            elif found:
                raise Refused(f"its input {name} {found}, and the data that triad draws is not like that")
        if same := problem_structure.alike(draws):
            if self.can_draw and self.draws_alike:
                self.fills.update(dict.fromkeys(same, DRAWN))
                return
            a, b = (self.input_names[k] for k in same)
            raise Refused(f"its inputs {a} and {b} are equal in every draw, and those that triad draws "
                          "are not")

    def integers(self, i: int, samples: list) -> str:
        """The rule that makes an input of integers."""
        try:
            return f"classes of {self.classes(i, samples)} ignoring no_class"
        except Refused:
            if self.can_draw:
                return DRAWN
            raise

    def bounded(self, distribution: str, values: dict[str, int]) -> bool:
        """Whether the answer has a bound there, and the gradients too where they are judged."""
        return not self.bound(distribution, values) and bool(
            self.gradient or not self.gradient_trouble(distribution, values))

    def keeps_its_data(self) -> bool:
        """Whether no input of floats follows a distribution."""
        floats = [k for k, i in enumerate(self.places) if self.first[k].is_floating_point()]
        return all(self.fills.get(k) in ("uniform", DRAWN) for k in floats)

    def classes(self, i: int, samples: list) -> str:
        """The size that integers of an input stay below."""
        found = max(int(s[i].max()) for s in samples) + 1
        for constant in self.free:
            if self.judged[constant] == found and min(int(s[i].min()) for s in samples) >= 0:
                return self.dims[constant]
        raise Refused("an input holds integers whose range follows from none of its sizes")

    def drawn(self, distribution: str, values: dict[str, int]) -> list:
        """Inputs of a shape that look like a distribution of triad's."""
        inputs = self.inputs(values, SEED)
        random = torch.Generator().manual_seed(7)
        for k, i in enumerate(self.places):
            if k not in self.fills and inputs[i].is_floating_point():
                inputs[i] = problem_data.like(distribution, inputs[i].shape, random).to(inputs[i].dtype)
        return inputs

    def bound(self, distribution: str, values: dict[str, int]) -> str:
        """Why the answer has no finite bound for data of a shape, "" where it has one that it keeps itself in
        the dtype of the case."""
        model, inputs = self.model(values, SEED), self.drawn(distribution, values)
        tensors = tuple(inputs[i] for i in self.places)
        try:
            found = error_bound.compute(self.reference(model, inputs), tensors, {}, self.contract(),
                                        self.dtype,
                                      distribution in ("constant", "sparse"), len(self.outputs))
        except error_bound.UnknownForm as e:
            return f"its answer has no bound: {line(e).partition(':')[0]}"
        except Exception as e:
            return reason("computing it in fp64", e)
        with torch.no_grad():
            value = self.call(self.model(values, SEED), self.drawn(distribution, values))
        for got, want in zip(value, found):
            if _undefined(want) or got.isnan().any():
                return "its answer, or the bound of it, is infinite or NaN for ordinary data"
            if not got.is_floating_point():
                if ((got.double().reshape(want.r.shape) - want.r).abs() > want.e).any():
                    return "its integers differ from those of its fp64 answer"
                if int((want.e > 0).sum()) > MOST_UNDECIDED * want.e.numel():
                    return "its integers hang on choices between values that are equal, or nearly"
                continue
            u = bounded.ROUNDOFF[got.dtype]
            over = (got.double().reshape(want.r.shape) - want.r).abs() - want.e - u * want.r.abs() * 1.01
            if (over > bounded.LOWEST[got.dtype]).any():
                return (f"its answer in {NAMES[self.dtype]} lies outside of the bound of its fp64 answer, by "
                        f"{over.max().item():.2g}")
        return ""

    def contract(self) -> str:
        """The contract that the reference itself keeps."""
        return "fp32" if self.dtype == torch.float32 else "eager"

    def gradient_trouble(self, distribution: str, values: dict[str, int]) -> str:
        """Why the gradients have no bound for data of a shape, "" where they have one."""
        model, inputs = self.model(values, SEED), self.drawn(distribution, values)
        tensors = tuple(inputs[i] for i in self.places)
        try:
            with torch.no_grad():
                value = self.call(model, list(inputs))
            upstream = {i: torch.ones_like(v) for i, v in enumerate(value)}
            found = error_bound.compute(self.reference(model, inputs), tensors, {}, self.contract(),
                                        self.dtype,
                                      False, len(self.outputs), upstream, self.differentiable)
        except error_bound.UnknownForm as e:
            return line(e).partition(":")[0]
        except Exception as e:
            return reason("computing them", e)
        if any(_undefined(g) for g in found):
            return "they, or their bounds, are infinite or NaN for ordinary data"
        return ""


def reason(doing: str, e: BaseException) -> str:
    """Why something failed, in half a sentence."""
    text = line(e)
    if isinstance(e, ModuleNotFoundError):
        return f"it imports {e.name}, which is not installed here"
    if isinstance(e, OSError) and ("resolution" in text or "urlopen" in text or "unreachable" in text):
        return "it wants the network, which a reference does not have here"
    if isinstance(e, MemoryError) or "can't allocate memory" in text:
        return "it needs too much memory"
    if "NVIDIA driver" in text or "CUDA driver" in text or "with CUDA" in text or "No CUDA GPUs" in text:
        return "its reference needs a GPU"
    if on_gpu := re.search(r"\b(\w+) only supports .*\bCPU\b", text):
        return f"its reference calls {on_gpu[1]} in a form that torch has for a GPU alone"
    wanted = re.search(r"\binstall (?:an? )?([A-Za-z]\w*)", text, re.IGNORECASE)
    if wanted and importlib.util.find_spec(wanted[1]) is None:
        return f"it wants {wanted[1]}, which is not installed here"
    return f"{doing} raised {type(e).__name__}" + (f": {text}" if text else "")


def _undefined(value: bounded.Bounded) -> bool:
    """Whether a value or its bound is infinite or NaN, or its simulated value NaN: an infinity may be what
    the value rounds to."""
    return not (value.r.isfinite().all() and value.e.isfinite().all()) or bool(value.s.isnan().any())
