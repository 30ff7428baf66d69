"""Problems in the format of LeetGPU: a file challenge.py with `class Challenge(ChallengeBase)`, whose
get_solve_signature() names the parameters of `extern "C" void solve(...)` in their order, and whose
reference_impl() writes the outputs. A submission is a file with that function.

An imported problem is a folder with problem.json, the problem's file, and an operator file that takes its
names from here (internal/problem writes all three). The submission is CUDA, or Python with a function of the
same parameters: internal/ownkernels calls it.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import problem_folder
import problem_recipes
import problem_sizes
from problem_seed import seed_torch
from problem_trial import SEED, Trial, test_trials, tolerance_words
from tensors import DTYPES as DTYPE_OF

ENTRY = "solve"
"""The function of a submission."""

DTYPES = {ctypes.c_float: torch.float32, ctypes.c_double: torch.float64, ctypes.c_uint16: torch.float16,
          ctypes.c_int: torch.int32, ctypes.c_int8: torch.int8, ctypes.c_uint8: torch.uint8,
          ctypes.c_int64: torch.int64, ctypes.c_uint32: torch.uint32}
"""What a pointer to each type of ctypes points to; 16 bits without a sign are fp16."""

DIRECTIONS = {"in": "input", "out": "output", "inout": "inout"}


class _Asked:
    """A tensor of a test that is asked for by its shape."""

    def __init__(self, shape: Any, *how: Any, dtype: str = "float32", **named: Any):
        self.shape, self.how, self.dtype = tuple(shape), [*how, *named.values()], dtype

    def made(self) -> torch.Tensor:
        raise NotImplementedError


class RandTensor(_Asked):
    def made(self) -> torch.Tensor:
        low, high, *_ = [*self.how, 0.0, 1.0][-2:] if len(self.how) < 2 else self.how
        return torch.empty(self.shape).uniform_(low, high).to(getattr(torch, self.dtype))


class RandnTensor(_Asked):
    def made(self) -> torch.Tensor:
        return torch.randn(self.shape).to(getattr(torch, self.dtype))


class RandIntTensor(_Asked):
    def made(self) -> torch.Tensor:
        return torch.randint(self.how[0], self.how[1], self.shape).to(getattr(torch, self.dtype))


class FullTensor(_Asked):
    def made(self) -> torch.Tensor:
        return torch.full(self.shape, *self.how[:1] or [0.0]).to(getattr(torch, self.dtype))


class OutTensor(_Asked):
    def made(self) -> torch.Tensor:
        return torch.zeros(self.shape, dtype=getattr(torch, self.dtype))


class ChallengeBase:
    """What a challenge is derived from."""

    def __init__(self, device: str = "cpu", **stated: Any):
        self.device = device
        vars(self).update(stated)  # its name and tolerances, where they are not of the class


def made(value: Any) -> Any:
    """A value of a test, as a tensor where it asks for one."""
    return value.made() if isinstance(value, _Asked) else value


class _Unasserted(ast.NodeTransformer):
    """Takes out what asserts dtypes: the truth is computed in fp64."""

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node)


def challenge(text: str, path: str, asserts: bool) -> Any:
    """The challenge of a file, with what it asserts or without."""
    base = types.ModuleType("core.challenge_base")
    for kind in (ChallengeBase, RandTensor, RandnTensor, RandIntTensor, FullTensor, OutTensor):
        setattr(base, kind.__name__, kind)
    sys.modules["core"] = types.ModuleType("core")
    sys.modules["core"].challenge_base = base
    sys.modules["core.challenge_base"] = base
    tree = ast.parse(text, path)
    if not asserts:
        tree = ast.fix_missing_locations(_Unasserted().visit(tree))
    module = types.ModuleType("triad_problem")
    module.__file__ = path
    sys.modules[module.__name__] = module
    exec(compile(tree, path, "exec"), vars(module))
    parameters = inspect.signature(module.Challenge).parameters.values()
    if any(p.name == "device" or p.kind is p.VAR_KEYWORD for p in parameters):
        return module.Challenge(device="cpu")
    found = module.Challenge()  # it has an __init__ of its own
    found.device = "cpu"
    return found


class Problem(problem_folder.Folder):
    """A problem that was imported."""

    def __init__(self, folder: str | Path):
        super().__init__(folder)
        self.challenge = challenge(self.text, str(self.path), False)

    def reference(self, *tensors: torch.Tensor, **attributes: Any) -> Any:
        """The outputs, computed in the dtype of the tensors."""
        values = self.values(tensors, attributes)
        shapes = [[problem_sizes.value_of(size, values) for size in shape]
                  for shape in self.plan["output_shapes"]]
        dtypes = [DTYPE_OF[name] for name in self.plan["output_dtypes"]]
        return answer(self.challenge, self.plan["signature"], tensors, values, shapes, dtypes)

    def draw(self, shapes: list[tuple], attributes: dict[str, Any], seed: int) -> list[torch.Tensor]:
        """The inputs as the problem's tests have them, at the sizes of a call."""
        return problem_recipes.of_a_call(self, shapes, attributes, seed)


def answer(challenge: Any, signature: list, tensors: tuple, values: dict[str, Any], shapes: list,
           dtypes: list) -> Any:
    """What reference_impl writes: tensors are the inputs, values the numbers by name, shapes and dtypes those
    of the outputs. Floating-point outputs have the dtype of the first such input, which the truth has in
    fp64."""
    bounded = sys.modules.get("bounded")
    like = next((t for t in tensors if t.is_floating_point()), tensors[0])
    rest, arguments, outputs = list(tensors), {}, []

    def writable(t: torch.Tensor) -> torch.Tensor:
        return bounded.writable(t) if bounded is not None and isinstance(like, bounded.Bounded) else t
    for name, kind in signature:
        if kind == "input":
            arguments[name] = rest.pop(0).clone()
        elif kind == "inout":
            arguments[name] = writable(rest.pop(0).clone())
            outputs.append(arguments[name])
        elif kind == "output":
            dtype = dtypes[len(outputs)]
            zeros = torch.zeros(shapes[len(outputs)], device=like.device,
                                dtype=like.dtype if dtype.is_floating_point else dtype)
            arguments[name] = writable(zeros) if dtype.is_floating_point else zeros
            outputs.append(arguments[name])
        else:
            arguments[name] = values[name]
    challenge.reference_impl(**arguments)
    return tuple(outputs) if len(outputs) > 1 else outputs[0]


def trials(problem: Any, device: str) -> tuple[str, Iterator[Trial]]:
    """The calls of the format's own check."""
    tolerance = problem.plan["their_check"]

    def accepts(got: list, want: list) -> bool:
        return len(got) == len(want) and all(torch.allclose(a, b, **tolerance) for a, b in zip(got, want))

    def each() -> Iterator[Trial]:
        seed_torch(SEED)
        for i, test in enumerate(problem.challenge.generate_functional_test()):
            yield from test_trials(problem, f"test {i + 1}", {n: made(v) for n, v in test.items()}, device,
                                   lambda _: accepts)
    return f"its functional tests, {tolerance_words(tolerance)}", each()
