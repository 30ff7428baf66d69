"""Problems in the format of Triton-Puzzles: for each puzzle a function NAME_spec, whose annotations hold the
shapes, such as Float32[Tensor, "90 100"], the head of a kernel of Triton, and a line
test(KERNEL, NAME_spec, B={...}, nelem={...}). A submission is a file with that kernel.

The kernel gets the inputs in the order of the spec's parameters, then the output, then by their names the
numbers of nelem and the blocks of B; B is {"B0": 32} where the line has none, B1 and B2 are 32 where nelem
has N1 and N2. The grid is ceildiv(N, B) on each of three axes, 1 where there is no such number. A submission
whose own line test() has other blocks is called with those.

A block that equals a number in the puzzle's own line, such as B0 = N0 = 32, equals it at all sizes.

An imported problem is a folder with problem.json, the puzzle's file, and an operator file that takes its
names from here (internal/problem writes all three).
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import problem_folder
import problem_sizes
import problem_submission
from problem_seed import seed_torch
from problem_submission import dense, own_copies, written
from problem_trial import Trial, tolerance_words

DTYPES = {"Float32": torch.float32, "Int32": torch.int32}
"""What a spec's annotations name: the format draws no others."""

USUAL_BLOCK, AXES = 32, ("0", "1", "2")

TOLERANCE = {"atol": 1e-3, "rtol": 1e-3}
"""Of the format's check."""

SEED, INTEGERS = 0, 100_000
"""Under which it draws, and between what it draws integers."""


class NoPuzzle(ValueError):
    """What a puzzle lacks, in a clause."""


class Puzzle:
    """One puzzle of a file.

    spec      the function
    inputs    the names of its tensors; dtypes their dtypes, shapes theirs, with the output's behind
    kernel    the name of the kernel
    numbers   nelem of its line test()
    blocks    B of it
    """

    def __init__(self, text: str, path: str, part: str):
        self.tree = parsed(text, path)
        functions = {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}
        if part not in functions:
            raise NoPuzzle(f"it defines no function {part}")
        self.names: dict[str, Any] = {"torch": torch, "Tensor": torch.Tensor}
        line = self._run(path, part)
        if line is None or not line.args or not isinstance(line.args[0], ast.Name):
            raise NoPuzzle(f"it has no line test(KERNEL, {part}, ...)")
        self.kernel = line.args[0].id
        self.spec = self.names[part]
        given = functions[part].args
        if given.vararg or given.kwarg or given.kwonlyargs:
            raise NoPuzzle(f"{part} takes something else than tensors")
        self.inputs = [a.arg for a in given.args]
        found = [annotated(a.annotation, a.arg) for a in given.args]
        found.append(annotated(functions[part].returns, "what it returns"))
        self.dtypes, self.shapes = [d for d, _ in found], [s for _, s in found]
        self.numbers, self.blocks = self.arguments(line)
        if "N0" not in self.numbers or not all(type(v) is int and v > 0 for v in
                                               [*self.numbers.values(), *self.blocks.values()]):
            raise NoPuzzle("nelem of its line test() has no N0, or numbers that are no sizes")

    def _run(self, path: str, part: str) -> ast.Call | None:
        """Runs what the file defines, up to the puzzle's own line test(), which it returns: a later cell may
        define other things of the same names. Lines that only show something are left out, and what fails,
        such as the import of a package that draws kernels, is not there."""
        flags = __future__.annotations.compiler_flag
        for node in self.tree.body:
            if isinstance(node, ast.Expr):
                if (call := tested(node)) is not None and names_spec(call, part):
                    return call
                continue
            code = compile(ast.Module([node], []), path, "exec", flags=flags, dont_inherit=True)
            with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                exec(code, self.names)
        return None

    def arguments(self, line: ast.Call) -> tuple[dict[str, int], dict[str, int]]:
        """The numbers and blocks of a line test()."""
        given = dict(zip(("nelem", "B"), line.args[2:]))
        given.update({k.arg: k.value for k in line.keywords if k.arg})
        try:
            numbers, blocks = (
                dict(eval(compile(ast.Expression(given[name]), "test()", "eval"), dict(self.names)))
                if name in given else usual
                for name, usual in (("nelem", {}), ("B", {"B0": USUAL_BLOCK})))
        except Exception as e:
            raise NoPuzzle(f"nelem and B of its line test() cannot be computed: {e}") from e
        for axis in AXES[1:]:
            if f"N{axis}" in numbers:
                blocks.setdefault(f"B{axis}", USUAL_BLOCK)
        return numbers, blocks

    def answer(self, tensors: tuple) -> torch.Tensor:
        """What the spec returns. It may ask autograd for a gradient."""
        with torch.enable_grad(), contextlib.redirect_stdout(io.StringIO()):
            value = self.spec(*tensors)
        if not isinstance(value, torch.Tensor):
            raise NoPuzzle("its spec returns something that is no tensor")
        return value.detach()

    def drawn(self, shapes: list, random: torch.Generator) -> list[torch.Tensor]:
        """Inputs as the format draws them."""
        return [torch.randint(-INTEGERS, INTEGERS, tuple(shape), generator=random, dtype=dtype)
                if dtype == torch.int32 else torch.rand(tuple(shape), generator=random) - 0.5
                for dtype, shape in zip(self.dtypes, shapes)]


def parsed(text: str, path: str) -> ast.Module:
    """A file as Python, without the lines that only a notebook understands."""
    try:
        return ast.parse(text, path)
    except SyntaxError:
        return ast.parse(re.sub(r"(?m)^([ \t]*)[!%].*$", r"\1pass", text), path)


def tested(node: ast.stmt) -> ast.Call | None:
    """The call of a line test()."""
    call = node.value if isinstance(node, ast.Expr) else None
    named = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "test"
    return call if named else None


def names_spec(call: ast.Call, part: str) -> bool:
    """Whether a line test() is that of a spec."""
    return len(call.args) > 1 and isinstance(call.args[1], ast.Name) and call.args[1].id == part


def annotated(annotation: ast.expr | None, of: str) -> tuple[torch.dtype, list[int]]:
    """The dtype and the shape that an annotation holds."""
    match annotation:
        case ast.Subscript(value=ast.Name(id=kind) | ast.Attribute(attr=kind),
                           slice=ast.Tuple(elts=[_, ast.Constant(value=str(sizes))])):
            if kind in DTYPES and all(word.isdigit() for word in sizes.split()):
                return DTYPES[kind], [int(word) for word in sizes.split()]
            raise NoPuzzle(f"the annotation of {of} is {kind} of sizes {sizes}: want Float32 or Int32, and "
                           "sizes that are numbers")
    raise NoPuzzle(f"the annotation of {of} holds no shape")


class Problem(problem_folder.Folder):
    """A problem that was imported."""

    def __init__(self, folder: str | Path):
        super().__init__(folder)
        self.puzzle = Puzzle(self.text, str(self.path), self.plan["part"])

    def numbers(self, tensors: tuple, attributes: dict[str, Any], given: dict[str, Any]) -> dict[str, int]:
        """Numbers of a call, each stated as a number or as the name of a size."""
        values = self.values(tensors, attributes)
        return {name: values[stated] if isinstance(stated, str) else stated
                for name, stated in given.items()}

    def reference(self, *tensors: torch.Tensor, **attributes: Any) -> torch.Tensor:
        """The output, computed in the dtype of the tensors."""
        value = self.puzzle.answer(own_copies(tensors)).contiguous()
        return value if value.dim() else value.reshape(1)

    def draw(self, shapes: list[tuple], attributes: dict[str, Any], seed: int) -> list[torch.Tensor]:
        """The inputs as the problem draws them at the sizes of a call."""
        return self.puzzle.drawn(shapes, torch.Generator().manual_seed(seed))


class Submission(problem_submission.Submission):
    """The kernel of a file, launched as the format launches it."""

    def __init__(self, problem: Problem, path: str):
        self.kernel = problem.plan["entry"]
        super().__init__(problem, path)
        self.blocks = self._own_blocks()

    def unpacked(self, path: str) -> str:
        """Of a notebook the code."""
        if Path(path).suffix != ".ipynb":
            return path
        try:
            cells = json.loads(Path(path).read_text(encoding="utf-8"))["cells"]
            texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        except (ValueError, KeyError, TypeError) as e:
            raise ImportError(f"triad: {path}:1: it is no notebook") from e
        name = Path(path).stem + ".py"
        return written({name: "\n\n".join(t for t in texts if not t.startswith("%%")) + "\n"}, name)

    def missing(self) -> str:
        import implementation
        if implementation.TRITON_MISSING:
            raise ImportError(f"triad: not here: Triton ({implementation.TRITON_MISSING})")
        kernel = getattr(self.file, self.kernel, None)
        if kernel is None:
            return f"it defines no kernel {self.kernel}, which a submission to this puzzle has"
        return "" if hasattr(kernel, "run") else f"{self.kernel} is no kernel of Triton: it lacks @triton.jit"

    def _own_blocks(self) -> dict[str, Any]:
        """The blocks of the submission's own line test(), where it has one with others than the puzzle's."""
        puzzle, plan = self.problem.puzzle, self.problem.plan
        text = Path(self.path).read_text(encoding="utf-8-sig", errors="replace")
        for node in reversed(parsed(text, self.path).body):
            call = tested(node)
            if (call is not None and call.args and isinstance(call.args[0], ast.Name)
                    and call.args[0].id == self.kernel):
                with contextlib.suppress(NoPuzzle):
                    _, blocks = puzzle.arguments(call)
                    return plan["blocks"] if blocks == puzzle.blocks else blocks
        return plan["blocks"]

    def forward(self, *tensors: torch.Tensor, **attributes: Any) -> torch.Tensor:
        """What the kernel writes."""
        problem, plan = self.problem, self.problem.plan
        values = problem.values(tensors, attributes)
        numbers = problem.numbers(tensors, attributes, plan["numbers"])
        blocks = problem.numbers(tensors, attributes, self.blocks)
        shape = [problem_sizes.value_of(size, values) for size in plan["output_shape"]]
        z = torch.empty(shape, dtype=problem.puzzle.dtypes[-1], device=tensors[0].device)
        grid = tuple(-(-numbers.get(f"N{axis}", 1) // blocks.get(f"B{axis}", 1)) for axis in AXES)
        with self.own_file.called():
            getattr(self.file, self.kernel)[grid](*tensors, z, **numbers, **blocks)
        return dense(z)


def trials(problem: Problem, device: str) -> tuple[str, Iterator[Trial]]:
    """The call of the format's own check."""
    def accepts(got: list, want: list) -> bool:
        return all(torch.allclose(a, b, **TOLERANCE) for a, b in zip(got, want))

    def each() -> Iterator[Trial]:
        seed_torch(SEED)
        tensors = []
        for dtype, shape in zip(problem.puzzle.dtypes[:-1], problem.puzzle.shapes):
            tensors.append(torch.rand(shape) - 0.5)  # also drawn where integers take its place
            if dtype == torch.int32:
                tensors[-1] = torch.randint(-INTEGERS, INTEGERS, tuple(shape))
        yield Trial("its test", tuple(tensors), {}, {}, accepts)
    return f"one draw from seed {SEED}, {tolerance_words(TOLERANCE)}", each()


def submission(folder: str, path: str, name: str) -> list:
    """The rows of an operator file that calls a submission."""
    from implementation import Implementation
    problem = Problem(folder)
    called: Callable = Submission(problem, path)
    plan = problem.plan
    return [Implementation(name, called.forward, None, tuple(plan["outputs"]), (), problem.contracts(),
                           tuple(plan["dtypes"]), accepts=called.accepts)]
