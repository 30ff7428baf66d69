"""Describes a problem in the format of Triton-Puzzles as an operator. Its sizes are numbers in annotations;
those that are equal to a number of the puzzle's line test() vary with it, as far as the spec has an answer of
the shape that follows. Two that are equal there stay equal, since nothing tells them apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import torch

import problem_describe
import problem_sizes
import problem_triton_puzzles as puzzles
from problem_fills import reason
from problem_inspect import Refused

SIZES = (33, 257, 65, 31, 97, 129, 17, 5, 64, 2, 1025, 7, 3)
"""Sizes that are tried in place of a puzzle's own, in this order."""

POWERS = (16, 64, 8, 128, 4, 2, 256)
"""And of one that equals a block: those of tiles are powers of 2."""

MOST_SIZES = 4
"""Values of a size that are judged besides its own."""


def describe(path: str, part: str) -> dict[str, Any]:
    """The description; Refused where there is none."""
    return _Puzzle(Path(path), part).result()


class _Puzzle(problem_describe.Description):
    """A puzzle while it is described."""

    can_draw = True

    def __init__(self, path: Path, part: str):
        self.part = part
        super().__init__(path)

    def begin(self) -> None:
        try:
            self.puzzle = puzzles.Puzzle(self.text, str(self.path), self.part)
        except puzzles.NoPuzzle as e:
            raise Refused(str(e)) from e
        except SyntaxError as e:
            raise Refused(f"line {e.lineno} is no Python: {e.msg}") from e

    def result(self) -> dict[str, Any]:
        self.sizes_of()
        self.tensors()
        return self.finished()

    def sizes_of(self) -> None:
        """Which of the puzzle's numbers are sizes that may vary, and how shapes follow from them."""
        puzzle = self.puzzle
        shown = {size for shape in puzzle.shapes[:-1] for size in shape}
        self.size_names: dict[int, str] = {}  # by the value, which equal sizes share
        for name, value in puzzle.numbers.items():
            if value in shown and value not in self.size_names:
                self.size_names[value] = name
        for value in list(self.size_names):
            if not self.varies(value):
                del self.size_names[value]
        self.expressions = {}
        last = len(puzzle.shapes) - 1
        for i, shape in enumerate(puzzle.shapes):
            kind = ("output", 0) if i == last else ("input", i)
            self.expressions[(*kind, -1)] = "1"
            self.expressions.update({(*kind, axis): self.size_names.get(size, str(size))
                                     for axis, size in enumerate(shape)})
        self.free = list(self.size_names.values())
        self.own = {name: value for value, name in self.size_names.items()}
        self.constants = dict(self.own)
        self.moving: list[str] = []
        self.probes = problem_sizes.Probes(self.evaluated, self.own)

    def varies(self, value: int) -> bool:
        """Whether the spec has an answer of the shape that follows at two other values of a size."""
        for other in list(self.others(value))[:2]:
            try:
                shapes = [[other if size == value else size for size in shape]
                          for shape in self.puzzle.shapes]
                drawn = self.puzzle.drawn(shapes[:-1], torch.Generator().manual_seed(0))
                if list(self.puzzle.answer(tuple(drawn)).shape) != shapes[-1]:
                    return False
            except Exception:
                return False
        return True

    def others(self, value: int) -> Iterator[int]:
        """Other values of a size: on the same side of every block of the puzzle, since its text may say that
        blocks are smaller than sizes, or as large."""
        blocks = set(self.puzzle.blocks.values())

        def side(size: int) -> list[bool]:
            return [size > block for block in sorted(blocks - {value})]
        for other in POWERS if value in blocks else SIZES:
            if other != value and side(other) == side(value):
                yield other

    def evaluated(self, values: dict[str, int]) -> problem_sizes.Sizes:
        return {slot: problem_sizes.value_of(e, values) for slot, e in self.expressions.items()}

    def proposed(self) -> Iterator[dict[str, int]]:
        """Each size with other values, the others at their own or small."""
        choices = {name: list(itertools.islice(self.others(value), MOST_SIZES))
                   for name, value in self.own.items()}
        yield {name: (found or [self.own[name]])[0] for name, found in choices.items()}
        yield dict(self.own)
        for k in range(1, MOST_SIZES):
            for name, found in choices.items():
                if k < len(found):
                    first = {n: (f or [self.own[n]])[0] for n, f in choices.items()}
                    yield {**first, name: found[k]}

    # ---- the tensors

    def tensors(self) -> None:
        puzzle = self.puzzle
        try:
            self.first = puzzle.drawn(puzzle.shapes[:-1], torch.Generator().manual_seed(0))
            self.outputs = [puzzle.answer(tuple(self.first))]
        except Exception as e:
            raise Refused(reason("calling its spec", e)) from e
        if list(self.outputs[0].shape) != puzzle.shapes[-1]:
            raise Refused(f"its spec returns a tensor of shape {list(self.outputs[0].shape)}, and its "
                          f"annotation says {puzzle.shapes[-1]}")
        if not self.outputs[0].is_floating_point():
            raise Refused("its output holds integers")
        self.dtype = self.outputs[0].dtype
        self.places = list(range(len(self.first)))
        self.input_names = [self.names.take(name) for name in puzzle.inputs]
        self.output_names = [self.names.take("z")]
        self.dims = {name: self.names.take(name) for name in self.free}
        if not self.free:
            self.dims = {"": self.names.take("n")}
        self.arguments, self.scalars = [], {}

    def classes(self, i: int, samples: list) -> str:
        raise Refused("integers are drawn as the puzzle draws them")

    # ---- running it

    def inputs(self, values: dict[str, int], seed: int) -> list:
        values = {**self.own, **values}
        shapes = [[problem_sizes.value_of(self.expressions["input", i, axis], values)
                   for axis in range(t.dim())] for i, t in enumerate(self.first)]
        return self.puzzle.drawn(shapes, torch.Generator().manual_seed(seed))

    def model(self, values: dict[str, int], seed: int) -> Any:
        return values

    def call(self, model: Any, inputs: list) -> list[torch.Tensor]:
        return [self.puzzle.answer(tuple(inputs)).clone()]

    def reference(self, model: Any, inputs: list) -> Callable:
        return lambda *tensors: self.puzzle.answer(tuple(t.clone() for t in tensors))

    def their_check(self) -> dict[str, float]:
        return puzzles.TOLERANCE

    def gradient_trouble(self, distribution: str, values: dict[str, int]) -> str:
        return "the format has none"

    # ---- the words

    def description(self) -> dict[str, Any]:
        found = super().description()
        puzzle = self.puzzle

        def stated(values: dict[str, int]) -> dict[str, Any]:
            return {name: self.size_names.get(value, value) for name, value in values.items()}
        found["plan"].update(
            part=self.part, entry=puzzle.kernel, numbers=stated(puzzle.numbers), blocks=stated(puzzle.blocks),
            output_shape=[self.expressions["output", 0, axis] for axis in range(self.outputs[0].dim())])
        return found
