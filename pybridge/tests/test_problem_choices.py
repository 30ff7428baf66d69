"""Problems whose answer hangs on choices, such as the place of the nearest point, and problems that hand
sizes over in a tensor or show them in the shape of an input alone."""

from __future__ import annotations

import hashlib
import json
import sys
import unittest
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "worker"))
import bridge_folders  # noqa: E402, F401

import error_bound  # noqa: E402
import problem_describe_kernelbench  # noqa: E402
import problem_describe_leetgpu  # noqa: E402
import problem_describe_tensara  # noqa: E402
import problem_recipes  # noqa: E402
import problem_tensara  # noqa: E402
from problem_case import ProblemCase  # noqa: E402
from test_problem_function import CHALLENGE  # noqa: E402

NEAREST = CHALLENGE + """
    def get_solve_signature(self):
        return {"points": (F, "in"), "nearest": (I, "out"), "N": N}

    def reference_impl(self, points, nearest, N):
        p = points.view(N, 2)
        d = ((p[:, None] - p[None]) ** 2).sum(2)
        d[torch.eye(N, dtype=torch.bool)] = float("inf")
        nearest.copy_(d.argmin(1).int())

    def test(self, n):
        return {"points": torch.rand(2 * n), "nearest": torch.zeros(n, dtype=torch.int32), "N": n}


TESTS = [(3,), (8,), (12,), (20,)]
"""

SAMPLED = CHALLENGE + """
    def get_solve_signature(self):
        return {"shares": (F, "in"), "at": (F, "in"), "token": (I, "out"), "B": N, "V": N}

    def reference_impl(self, shares, at, token, B, V):
        for b in range(B):
            token[b] = min(int(torch.searchsorted(shares[b].cumsum(0), at[b].item())), V - 1)

    def test(self, b, v):
        return {"shares": torch.rand(b, v).softmax(-1), "at": torch.rand(b),
                "token": torch.zeros(b, dtype=torch.int32), "B": b, "V": v}


TESTS = [(3, 4), (2, 5), (4, 9), (5, 12)]
"""

TENSARA = """
import torch
from problem import Problem


class axis_sum(Problem):
    parameters = [
        {"name": "x", "type": "float", "pointer": True, "const": True},
        {"name": "dim", "type": "int", "pointer": False, "const": False},
        {"name": "y", "type": "float", "pointer": True, "const": False},
        {"name": "shape", "type": "size_t", "pointer": True, "const": True},
        {"name": "ndim", "type": "size_t", "pointer": False, "const": False},
    ]

    def reference_solution(self, x, dim):
        return x.sum(dim=dim, keepdim=True)

    def case(self, *shape):
        def inputs():
            g = torch.Generator(device="cuda").manual_seed(sum(shape))
            return (torch.rand(shape, device="cuda", generator=g) - 0.5, 1)
        return {"name": str(shape), "shape": shape, "create_inputs": inputs}

    def generate_test_cases(self):
        return [self.case(16, 28, 56), self.case(32, 64, 12), self.case(8, 24, 100), self.case(128, 10)]

    def generate_sample(self):
        return self.case(4, 4)

    def verify_result(self, expected, actual):
        return torch.allclose(actual, expected, rtol=1e-4, atol=1e-4), {}

    def get_extra_params(self, case):
        return [torch.tensor(case["shape"]), len(case["shape"])]
"""

NORM = (TENSARA.replace("x.sum(dim=dim, keepdim=True)", "x / x.norm()").replace("(self, x, dim)", "(self, x)")
        .replace(" - 0.5, 1)", " - 0.5,)").replace('[torch.tensor(case["shape"]), len(case["shape"])]',
                                                   '[torch.Size(case["shape"]).numel()]'))
NORM = "\n".join(line for line in NORM.splitlines()
                 if '"dim"' not in line and '"shape", "type"' not in line)

PRODUCT = CHALLENGE + """
    def get_solve_signature(self):
        return {"A": (F, "in"), "B": (F, "in"), "C": (F, "out"), "M": N, "N": N, "K": N}

    def reference_impl(self, A, B, C, M, N, K):
        C.copy_(A @ B)

    def test(self, m, n):
        return {"A": torch.randn(m, m), "B": torch.randn(m, n), "C": torch.empty(m, n),
                "M": m, "N": n, "K": m}


TESTS = [(3, 4), (8, 5), (4, 30), (10, 12)]
"""

LARGEST = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.max(1).values, x.argmax(1)


rows, cols = 12, 30


def get_inputs():
    return [torch.rand(rows, cols)]
"""

PATHS = (NORM.replace("x / x.norm()", "torch.where(x > 0, x, 9).amin(0)").replace(
    "torch.rand(shape, device=\"cuda\", generator=g) - 0.5",
    "torch.where((t := torch.rand(shape, device='cuda', generator=g)) < t[t > 0.1].min() + 0.3, 0, t)")
    .replace('[torch.Size(case["shape"]).numel()]', '[case["shape"][0]]')
    .replace("16, 28, 56", "64, 64").replace("32, 64, 12", "32, 32").replace("8, 24, 100", "9, 9")
    .replace("128, 10", "5, 5"))


class Choices(ProblemCase):
    def describe(self, text: str) -> dict:
        (self.path / "problem.py").write_text(text)
        module = problem_describe_leetgpu if text.startswith(CHALLENGE) else problem_describe_tensara
        return module.describe(str(self.path / "problem.py"))

    def problem(self, d: dict, text: str) -> problem_tensara.Problem:
        plan = {**d["plan"], "file": "problem.py",
                "files": {"problem.py": hashlib.sha256(text.encode()).hexdigest()}}
        (self.path / "problem.json").write_text(json.dumps(plan))
        return problem_tensara.Problem(self.path)

    def test_places_are_integers(self):
        d = self.describe(NEAREST)
        self.assertEqual((d["dtypes"], d["outputs"][0]["dtype"]), (["fp32"], "int32"))
        self.assertIn("normal", d["distributions"])
        self.assertNotIn("zeros", d["distributions"])  # of equal points any is the nearest

    def test_the_place_of_the_largest_next_to_it(self):
        (self.path / "problem.py").write_text(LARGEST)
        d = problem_describe_kernelbench.describe(str(self.path / "problem.py"))
        self.assertEqual([(t["dtype"], t["shape"]) for t in d["outputs"]],
                         [("", ["rows"]), ("int64", ["rows"])])
        self.assertEqual((d["plan"]["differentiable"], "integers" in d["no_gradient"]), ([], True))
        self.assertIn("outlier", d["distributions"])
        self.assertNotIn("constant", d["distributions"])  # any place is that of the largest

    def test_rows_of_shares(self):
        d = self.describe(SAMPLED)
        self.assertEqual(d["plan"]["recipes"][0]["structure"], "shares")
        random = torch.Generator().manual_seed(1)
        drawn = problem_recipes.drawn(d["plan"]["recipes"][0], [3, 1000], torch.float32, {}, random)
        self.assertTrue(torch.allclose(drawn.sum(1), torch.ones(3)))

    def test_a_tensor_of_sizes(self):
        d = self.describe(TENSARA)
        self.assertEqual([(t["name"], t["shape"], t["fill"]) for t in d["inputs"]],
                         [("x", ["shape_0", "shape_1", "shape_2"], ""), ("shape", ["3"], "drawn")])
        self.assertEqual(d["plan"]["parameters"], ["x", "dim", "y", "shape", "ndim"])
        self.assertIn({"name": "of_shape_1", "type": "int", "default": "shape_1"}, d["attributes"])
        attributes = {"of_shape_0": 5, "of_shape_1": 3, "of_shape_2": 7, "dim": 1, "ndim": 3}
        x, shape = self.problem(d, TENSARA).draw([(5, 3, 7), (3,)], attributes, 1)
        self.assertEqual((shape.dtype, shape.tolist()), (torch.int64, [5, 3, 7]))
        y = self.problem(d, TENSARA).reference(x, shape, **attributes)
        self.assertTrue(torch.equal(y, x.sum(1, True)))

    def test_sizes_that_only_a_shape_shows(self):
        d = self.describe(NORM)
        self.assertEqual([x["name"] for x in d["dims"]], ["x_0", "x_1", "x_2"])
        self.assertEqual({a["name"]: a["default"] for a in d["attributes"]}["ndim"], "x_0 * x_1 * x_2")

    def test_numbers_that_are_equal_in_every_test(self):
        d = self.describe(PRODUCT)
        self.assertEqual([t["shape"] for t in d["inputs"] + d["outputs"]],
                         [["m", "k"], ["k", "n"], ["m", "n"]])

    def test_inputs_that_need_their_elements(self):
        self.assertEqual(self.describe(PATHS)["inputs"][0]["shape"], ["ndim", "ndim"])


class Settled(ProblemCase):
    """How far a choice may be off."""

    def settled(self, function, *tensors) -> list:
        return error_bound.compute(function, tensors, {}, "fp32", torch.float32, False, 1)

    def test_a_choice_among_equal_values(self):
        x = torch.tensor([[1.0, 3.0, 2.0, 3.0, 0.0], [4.0, 3.0, 2.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
        found, = self.settled(lambda x: x.argmax(1), x)
        self.assertEqual((found.r.tolist(), found.e.tolist()), ([1, 0, 0], [2, 0, 4]))

    def test_a_choice_that_rounding_may_turn(self):
        x, y = torch.full((200,), 0.1), torch.full((200,), 0.1)
        y[0] += 2.0 ** -24
        found, = self.settled(lambda x, y: torch.stack([x.sum(), y.sum()]).argmax(), x, y)
        self.assertEqual((found.r.item(), found.e.item()), (1, 1))
        found, = self.settled(lambda x, y: torch.stack([x.sum(), y.sum()]).argmax(), x, y + 1)
        self.assertEqual((found.r.item(), found.e.item()), (1, 0))

    def test_a_number_that_python_computes_with(self):
        x = torch.rand(100, generator=torch.Generator().manual_seed(1))
        found, = self.settled(lambda x: torch.tensor([sum(v.item() for v in x)], dtype=torch.float64), x)
        in_fp32 = torch.zeros(())
        for v in x:
            in_fp32 += v
        self.assertLessEqual(abs(in_fp32.item() - found.r.item()), found.e.item())

    def test_floats_that_hang_on_a_choice(self):
        def place_and_value(x):
            at = x.argmax(0)
            return at, torch.arange(3.0, dtype=x.dtype)[at] * 2
        found = error_bound.compute(place_and_value, (torch.tensor([1.0, 1.0, 0.0]),), {}, "fp32",
                                    torch.float32, False, 2)
        self.assertEqual([x.e.item() for x in found], [1, 2])


if __name__ == "__main__":
    unittest.main()
