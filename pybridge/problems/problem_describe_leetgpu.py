"""Describes a problem in the format of LeetGPU as an operator."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any, Callable

import torch

import problem_describe_function as function
import problem_leetgpu as leetgpu
from problem_fills import reason
from problem_inspect import Refused
from problem_seed import seed_torch


def describe(path: str) -> dict[str, Any]:
    """The description; Refused where there is none."""
    return _Challenge(Path(path)).result()


class _Challenge(function.Function):
    """A challenge while it is described."""

    def look(self) -> None:
        try:
            self.strict = leetgpu.challenge(self.text, str(self.path), True)
            self.free_of_asserts = leetgpu.challenge(self.text, str(self.path), False)
            signature = self.strict.get_solve_signature()
        except Exception as e:
            raise Refused(reason("importing it", e)) from e
        self.signature: list[tuple[str, str]] = []
        self.kinds: dict[str, Any] = {}
        for name, (kind, direction) in signature.items():
            pointed = getattr(kind, "_type_", None) if isinstance(kind, type) and issubclass(
                kind, ctypes._Pointer) else None
            if pointed is not None and (pointed not in leetgpu.DTYPES or direction not in leetgpu.DIRECTIONS):
                raise Refused(f"its parameter {name} is a pointer ({direction}) to {pointed.__name__}, which "
                              "is not imported")
            self.kinds[name] = leetgpu.DTYPES.get(pointed, kind)
            word = "number" if pointed is None else leetgpu.DIRECTIONS[direction]
            self.signature.append((name, word))

    def tests_of(self) -> None:
        """The problem's own tests."""
        self.tests: list[dict[str, Any]] = []
        for generate in ("generate_example_test", "generate_functional_test"):
            seed_torch(0)
            try:
                found = getattr(self.strict, generate)()
            except Exception as e:
                raise Refused(reason(f"its {generate}", e)) from e
            for test in found if isinstance(found, list) else [found]:
                self.tests.append({name: leetgpu.made(value) for name, value in test.items()})
        names = [name for name, _ in self.signature]
        if any(set(names) - set(test) for test in self.tests):
            raise Refused("a test of it lacks a parameter of solve()")
        self.looked = self.tests

    def timed(self) -> dict[str, Any]:
        """The numbers of the test that is timed, without its tensors."""
        try:
            with torch.device("meta"):
                self.strict.device = "meta"
                return dict(self.strict.generate_performance_test())
        except Exception:
            return {}
        finally:
            self.strict.device = "cpu"

    def call(self, model: Any, inputs: list) -> list[torch.Tensor]:
        value = leetgpu.answer(self.strict, self.signature, tuple(inputs), model, self.shapes_of(model),
                               [t.dtype for t in self.outputs])
        return list(value) if isinstance(value, tuple) else [value]

    def reference(self, model: Any, inputs: list) -> Callable:
        def run(*tensors: torch.Tensor) -> Any:
            return leetgpu.answer(self.free_of_asserts, self.signature, tensors, model, self.shapes_of(model),
                                  [t.dtype for t in self.outputs])
        return run

    def is_constant(self) -> bool:
        """Whether its answers to its tests do not depend on the order of the elements either."""
        def answered(tensors: list, test: dict[str, Any]) -> list[torch.Tensor]:
            shapes = [test[name].shape for name, word in self.signature if word in function.MADE]
            value = leetgpu.answer(self.free_of_asserts, self.signature, tuple(tensors), test, shapes,
                                   [t.dtype for t in self.outputs])
            return list(value) if isinstance(value, tuple) else [value]
        for test in self.tests[:3]:
            tensors = [test[name] for name in self.tensor_names]
            try:
                first = answered(tensors, test)
                others = [answered([t.flatten().flip(0).reshape(t.shape) for t in tensors], test),
                          answered([torch.zeros_like(t) for t in tensors], test)]
            except Exception:
                return False
            if not all(torch.equal(a, b) for other in others for a, b in zip(first, other)):
                return False
        return True

    def their_check(self) -> dict[str, float]:
        return {"atol": float(getattr(self.strict, "atol", 1e-8)),
                "rtol": float(getattr(self.strict, "rtol", 1e-5))}
