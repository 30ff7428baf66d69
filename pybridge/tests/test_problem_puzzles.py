"""Problems in the format of Triton-Puzzles, described and called."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "worker"))
import bridge_folders  # noqa: E402, F401

import problem_check  # noqa: E402
import problem_describe_triton_puzzles  # noqa: E402
import problem_triton_puzzles  # noqa: E402
import tensors  # noqa: E402
from problem_case import ProblemCase  # noqa: E402
from problem_inspect import Refused  # noqa: E402

HEAD = """
import torch
import triton
import no_package_that_draws
import triton.language as tl
from torch import Tensor
from jaxtyping import Float32, Int32


def test(kernel, spec, nelem={}, B={"B0": 32}, viz=True):
    no_package_that_draws.trace(kernel)

"""

ROWS = """
def {0}_spec(x: Float32[Tensor, "6 150"]) -> Float32[Tensor, "{1}"]:
    return {2}

@triton.jit
def {0}_kernel(x_ptr, z_ptr, N0, N1, T, B0: tl.constexpr, B1: tl.constexpr):
    {3}

test({0}_kernel, {0}_spec, B={{"B0": 1, "B1": 32}}, nelem={{"N0": 6, "N1": 32, "T": 150}})
"""

OUTER = """
def {0}_spec(x: Float32[Tensor, "70"], y: Float32[Tensor, "90"]) -> Float32[Tensor, "90 70"]:
    return {1}

@triton.jit
def {0}_kernel(x_ptr, y_ptr, z_ptr, N0, N1, B0: tl.constexpr, B1: tl.constexpr):
    {2}

test({0}_kernel, {0}_spec, nelem={{"N0": 70, "N1": 90}})
"""

LINE = """
def {0}_spec(x: Float32[Tensor, "{1}"]) -> Float32[Tensor, "{1}"]:
    return {2}

@triton.jit
def {0}_kernel(x_ptr, z_ptr, N0, B0: tl.constexpr):
    {3}

test({0}_kernel, {0}_spec, nelem={{"N0": {1}}})
"""

GRADIENT = """
def gradient_spec(x: Float32[Tensor, "50 70"], dz: Float32[Tensor, "50 70"]) -> Float32[Tensor, "50 70"]:
    x = x.clone().requires_grad_(True)
    (x * torch.relu(x)).backward(dz)
    return x.grad

@triton.jit
def gradient_kernel(x_ptr, dz_ptr, dx_ptr, N0, N1, B0: tl.constexpr, B1: tl.constexpr):
    {0}

test(gradient_kernel, gradient_spec, nelem={{"N0": 70, "N1": 50}})
"""

UNPACKED = """
LOW = 2 ** 4 - 1
def unpacked_spec(words: Int32[Tensor, "40"], scale: Float32[Tensor, "40"]) -> Float32[Tensor, "40 8"]:
    return ((words[:, None] >> torch.arange(8) * 4) & LOW) * scale[:, None]

@triton.jit
def unpacked_kernel(words_ptr, scale_ptr, z_ptr, N0, B0: tl.constexpr):
    {0}

test(unpacked_kernel, unpacked_spec, B={{"B0": 16}}, nelem={{"N0": 40}})
"""

WHOLE = """i = tl.arange(0, B0)
    tl.store(z_ptr + i, tl.load(x_ptr + i) * 2 - 1)"""
BLOCKED = """i = tl.program_id(0) * B0 + tl.arange(0, B0)
    tl.store(z_ptr + i, tl.abs(tl.load(x_ptr + i, i < N0)), i < N0)"""
GRID = """i = tl.program_id(0) * B0 + tl.arange(0, B0)[None, :]
    j = tl.program_id(1) * B1 + tl.arange(0, B1)[:, None]
    x = tl.load(x_ptr + i, i < N0, 0)
    y = tl.load(y_ptr + j, j < N1, 0)
    tl.store(z_ptr + j * N0 + i, {0}, (i < N0) & (j < N1))"""
SUM = """row = tl.program_id(0)
    total = 0.0
    for start in range(0, T, B1):
        i = start + tl.arange(0, B1)
        x = tl.load(x_ptr + row * T + i, i < T, {1})
        total {0}
    tl.store(z_ptr + row, total)"""
SOFTMAX = """row = tl.program_id(0)
    largest, total = float("-inf"), 0.0
    for start in range(0, T, B1):
        i = start + tl.arange(0, B1)
        x = tl.load(x_ptr + row * T + i, i < T, float("-inf"))
        new = tl.maximum(largest, tl.max(x))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(x - new))
        largest = new
    for start in range(0, T, B1):
        i = start + tl.arange(0, B1)
        x = tl.load(x_ptr + row * T + i, i < T, float("-inf"))
        tl.store(z_ptr + row * T + i, x - largest - tl.log(total), i < T)"""
DX = """i = tl.program_id(0) * B0 + tl.arange(0, B0)[None, :]
    j = tl.program_id(1) * B1 + tl.arange(0, B1)[:, None]
    inside = (i < N0) & (j < N1)
    x = tl.load(x_ptr + j * N0 + i, inside, 0)
    dz = tl.load(dz_ptr + j * N0 + i, inside, 0)
    tl.store(dx_ptr + j * N0 + i, 2 * tl.maximum(x, 0.0) * dz, inside)"""
NIBBLES = """i = tl.program_id(0) * B0 + tl.arange(0, B0)[:, None]
    k = tl.arange(0, 8)[None, :]
    words = tl.load(words_ptr + i, i < N0, 0)
    scale = tl.load(scale_ptr + i, i < N0, 0)
    tl.store(z_ptr + i * 8 + k, ((words >> k * 4) & 15) * scale, (i < N0) & (k < 8))"""

PUZZLES = {
    "double": (lambda body: LINE.format("double", 32, "2 * x - 1", body), WHOLE, "* 2 - 1", "* 2"),
    "blocked": (lambda body: LINE.format("blocked", 150, "x.abs()", body), BLOCKED, "tl.program_id(0) * B0",
                "tl.program_id(0) * 0"),
    "guarded": (lambda body: LINE.format("guarded", 100, "x.abs()", body), BLOCKED, ")), i < N0)", ")))"),
    "outer": (lambda body: OUTER.format("outer", "torch.maximum(x[None, :], y[:, None])", body),
              GRID.format("tl.maximum(x, y)"), "j * N0 + i", "i * N1 + j"),
    "leaky": (lambda body: OUTER.format("leaky", "torch.nn.functional.leaky_relu(x[None, :] * y[:, None])",
                                        body),
              GRID.format("tl.where(x * y > 0, x * y, x * y * 0.01)"), "* 0.01", "* 0.1"),
    "mean": (lambda body: ROWS.format("mean", "6", "x.mean(1)", body), SUM.format("+= tl.sum(x) / T", "0"),
             "for start in range(0, T, B1)", "for start in range(0, T - B1, B1)"),
    "squares": (lambda body: ROWS.format("squares", "6", "(x * x).sum(1)", body),
                SUM.format("+= tl.sum(x * x)", "0"), "i < T, 0", "i < T, 1"),
    "log_softmax": (lambda body: ROWS.format("log_softmax", "6 150", "torch.log_softmax(x * 1.0, 1)", body),
                    SOFTMAX, "total * tl.exp(largest - new) + ", "total + "),
    "gradient": (lambda body: GRADIENT.format(body), DX, "2 * tl.maximum", "tl.maximum"),
    "unpacked": (lambda body: UNPACKED.format(body), NIBBLES, "& 15", "& 31"),
}
"""Ten puzzles: the text with a kernel, a right kernel, and what makes it wrong in place of what."""


@functools.cache
def described(text: str, part: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.py"
        path.write_text(text)
        return problem_describe_triton_puzzles.describe(str(path), part)


class Puzzles(ProblemCase):
    def setUp(self):
        super().setUp()
        problem_check._interpret()

    def imported(self, text: str, part: str) -> problem_triton_puzzles.Problem:
        (self.path / "problem.py").write_text(text)
        (self.path / "problem.json").write_text(json.dumps({
            **described(text, part)["plan"], "format": "triton-puzzles", "file": "problem.py",
            "files": {"problem.py": hashlib.sha256(text.encode()).hexdigest()}}))
        return problem_triton_puzzles.Problem(self.path)

    def off(self, problem: problem_triton_puzzles.Problem, path: Path, values: dict) -> float:
        """How far the submission's answer is from the reference's at sizes."""
        shapes = [tuple(values.get(size, size) for size in shape)
                  for shape in problem.puzzle.shapes[:-1]]
        inputs = problem.draw(shapes, {}, 5)
        called = problem_triton_puzzles.Submission(problem, str(path))
        want = problem.reference(*(t.double() if t.is_floating_point() else t for t in inputs))
        return (called.forward(*inputs).double() - want).abs().nan_to_num(torch.inf).max().item()

    def test_ten_puzzles_with_a_right_and_a_wrong_kernel(self):
        own = self.path / "mine.py"
        for name, (text, right, old, new) in PUZZLES.items():
            with self.subTest(name):
                problem = self.imported(HEAD + text("return"), f"{name}_spec")
                sizes = {size: problem.plan["own"][n] for size, n in _sizes(problem).items()}
                judged = described(HEAD + text("return"), f"{name}_spec")["shapes"][0]
                others = {size: judged[n.lower()] for size, n in _sizes(problem).items()}
                self.assertNotEqual(sizes, others)
                own.write_text(HEAD + text(right))
                for values in (sizes, others):
                    self.assertLess(self.off(problem, own, values), 1e-4)
                self.assertIn(old, right)
                own.write_text(HEAD + text(right.replace(old, new)))
                wrong = []
                for values in (sizes, others):
                    try:
                        wrong.append(self.off(problem, own, values) > 1e-3)
                    except Exception:
                        self.assertIsNotNone(tensors.OutOfBounds.last)
                        tensors.OutOfBounds.last = None
                        wrong.append(True)
                self.assertIn(True, wrong)

    def test_sizes_follow_from_the_numbers_that_they_equal(self):
        d = described(HEAD + PUZZLES["outer"][0]("return"), "outer_spec")
        self.assertEqual([i["shape"] for i in d["inputs"]], [["n0"], ["n1"]])
        self.assertEqual((d["outputs"][0]["shape"], d["own"]), (["n1", "n0"], {"n0": 70, "n1": 90}))
        self.assertEqual(d["plan"]["blocks"], {"B0": 32, "B1": 32})
        self.assertTrue(all(min(s.values()) > 32 for s in d["shapes"]), d["shapes"])
        d = described(HEAD + PUZZLES["mean"][0]("return"), "mean_spec")
        self.assertEqual((d["own"], d["plan"]["numbers"]), ({"n0": 6, "t": 150},
                                                            {"N0": "N0", "N1": 32, "T": "T"}))

    def test_a_block_that_equals_a_size_stays_equal(self):
        d = described(HEAD + PUZZLES["double"][0]("return"), "double_spec")
        self.assertEqual(d["plan"]["blocks"], {"B0": "N0"})
        self.assertTrue(all(n & (n - 1) == 0 for s in d["shapes"] for n in s.values()), d["shapes"])

    def test_a_spec_of_fixed_sizes_has_those_alone(self):
        text = LINE.format("fixed", 100, "x + torch.ones(100)", "return")
        d = described(HEAD + text, "fixed_spec")
        self.assertEqual((d["own"], d["inputs"][0]["shape"], d["plan"]["own"]), ({"n": 1}, ["100"], {}))

    def test_the_submissions_own_blocks_are_used(self):
        text, right, *_ = PUZZLES["blocked"]
        problem = self.imported(HEAD + text("return"), "blocked_spec")
        mine = (HEAD + text(right)).replace("nelem={\"N0\": 150}", 'nelem={"N0": 150}, B={"B0": 64}')
        (self.path / "mine.py").write_text(mine)
        called = problem_triton_puzzles.Submission(problem, str(self.path / "mine.py"))
        self.assertEqual(called.blocks, {"B0": 64})
        self.assertLess(self.off(problem, self.path / "mine.py", {150: 97}), 1e-6)

    def test_a_notebook_is_a_submission(self):
        text, right, *_ = PUZZLES["mean"]
        problem = self.imported(HEAD + text("return"), "mean_spec")
        cells = ["%%capture\n!pip install something", HEAD, text(right)]
        (self.path / "mine.ipynb").write_text(json.dumps({"cells": [
            {"cell_type": "markdown", "source": ["no ", "code"]},
            *({"cell_type": "code", "source": cell.splitlines(True)} for cell in cells)]}))
        self.assertLess(self.off(problem, self.path / "mine.ipynb", {6: 5, 150: 65}), 1e-5)
        (self.path / "mine.ipynb").write_text("[]")
        with self.assertRaisesRegex(ImportError, "is no notebook"):
            problem_triton_puzzles.Submission(problem, str(self.path / "mine.ipynb"))

    def test_the_check_of_the_notebook(self):
        text, right, old, new = PUZZLES["leaky"]
        self.imported(HEAD + text("return"), "leaky_spec")
        (self.path / "mine.py").write_text(HEAD + text(right))
        found = problem_check.checked(str(self.path), str(self.path / "mine.py"))
        self.assertEqual((found["passes"], found.get("trials")), (True, 1))
        (self.path / "mine.py").write_text(HEAD + text(right.replace(old, new)))
        found = problem_check.checked(str(self.path), str(self.path / "mine.py"))
        self.assertEqual((found["passes"], found["element"]["inside"]), (False, False))

    def test_a_submission_without_the_kernel(self):
        text, right, *_ = PUZZLES["blocked"]
        problem = self.imported(HEAD + text("return"), "blocked_spec")
        for mine, why in ((text(right).replace("blocked_kernel", "other"), "no kernel blocked_kernel"),
                          (text(right).replace("@triton.jit\n", ""), "it lacks @triton.jit")):
            (self.path / "mine.py").write_text(HEAD + mine)
            with self.assertRaisesRegex(ImportError, why):
                problem_triton_puzzles.Submission(problem, str(self.path / "mine.py"))

    def test_refused_with_a_reason(self):
        text = PUZZLES["blocked"][0]("return")
        for old, new, why in (
            ("test(blocked", "tested(blocked", "no line test"),
            ('x: Float32[Tensor, "150"]', 'x: Float32[Tensor, "n"]', "sizes that are numbers"),
            ('x: Float32[Tensor, "150"]', 'x: Bool[Tensor, "150"]', "want Float32 or Int32"),
            ('x: Float32[Tensor, "150"]', "x", "holds no shape"),
            ('nelem={"N0": 150}', "nelem={}", "has no N0"),
            ('nelem={"N0": 150}', "nelem=nothing", "cannot be computed"),
            ("x.abs()", "x.abs()[:5]", "its annotation says [150]"),
            ("x.abs()", "torch.rand_like(x)", "random numbers of its own"),
            ("x.abs()", "nothing(x)", "NameError"),
            ("x.abs()", "torch.zeros_like(x)", "the same for other inputs"),
            ("def blocked_spec(", "def blocked spec(", "is no Python"),
        ):
            with self.subTest(why), self.assertRaises(Refused) as refused:
                self.assertIn(old, text)
                described(HEAD + text.replace(old, new), "blocked_spec")
            self.assertIn(why, str(refused.exception))


def _sizes(problem: problem_triton_puzzles.Problem) -> dict[int, str]:
    """The names of the sizes that vary, by their own values."""
    return {size: name for name, size in problem.plan["own"].items()}


if __name__ == "__main__":
    unittest.main()
