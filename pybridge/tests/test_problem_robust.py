"""Problems in the format of robust-kbench, described and called."""

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
import problem_describe_robust_kbench  # noqa: E402
import problem_robust_kbench  # noqa: E402
from problem_case import ProblemCase  # noqa: E402
from problem_inspect import Refused  # noqa: E402

PLAIN = """
import torch
import torch.nn.functional as F


def forward_fn(x):
    return {0}


class Model(torch.nn.Module):
    def forward(self, x, fn=forward_fn):
        return fn(x)


def get_inputs(rows: int = 60, cols: int = 40):
    return [torch.randn(rows, cols)]


input_names = ["x"]
"""

WEIGHTED = """
import torch
import torch.nn.functional as F


def forward_fn(x, weight, bias, slope):
    return {0}


class Model(torch.nn.Module):
    def __init__(self, width, slope=0.2, kind="normal"):
        super().__init__()
        self.slope = slope
        make = torch.randn if kind == "normal" else torch.ones
        self.weight = torch.nn.Parameter(make(width, width))
        self.bias = torch.nn.Parameter(make(width))

    def forward(self, x, fn=forward_fn):
        return fn(x, self.weight, self.bias, self.slope)


def get_inputs(rows: int = 30, width: int = 7):
    return [torch.randn(rows, width)]


input_names = ["x"]
"""


def config(shared: dict | None = None, init: dict | None = None, inputs: dict | None = None) -> str:
    return json.dumps({"single_input_configs": [inputs or {}], "single_init_configs": [init or {}],
                       "single_shared_configs": [shared or {}]})


SHARED = config({"width": 24}, {"kind": "normal"}, {"rows": 50})
PRODUCT = "F.leaky_relu(x @ weight.T + bias, slope)"

PROBLEMS = {
    "rectified": (PLAIN, config(), "torch.relu(x)", "x.clamp(min=0)", "min=0", "min=-0.1"),
    "shares": (PLAIN, config(), "F.softmax(x, dim=1)", "x.exp() / x.exp().sum(1, keepdim=True)",
                "sum(1,", "sum(0,"),
    "bent": (PLAIN, config(), "F.gelu(x)", "x * 0.5 * (1 + torch.erf(x * 0.5 ** 0.5))", "0.5 ** 0.5", "0.7"),
    "norm": (PLAIN, config(), "x / x.pow(2).mean(1, keepdim=True).add(1e-5).sqrt()",
             "x * (x.pow(2).mean(1, keepdim=True) + 1e-5).rsqrt()", "mean(1", "mean(0"),
    "sums": (PLAIN, config(), "x.cumsum(1)", "x.cumsum(1)", "x.cumsum(1)", "x.cumsum(0)"),
    "least": (PLAIN, config(), "x.amin(1)", "-(-x).amax(1)", "-(-x)", "x"),
    "gated": (PLAIN, config(), "F.silu(x)", "x / (1 + torch.exp(-x))", "-x", "x"),
    "product": (WEIGHTED, SHARED, PRODUCT, "torch.where((y := x @ weight.T + bias) > 0, y, y * slope)",
                "y * slope", "y * 0.01"),
    "hinge": (WEIGHTED, SHARED, "(slope - x * bias).relu() @ weight", "(slope - x * bias).clamp(0) @ weight",
              "@ weight", "@ weight.T"),
    "pooled": (WEIGHTED, SHARED, "F.avg_pool1d(x @ weight + bias, 4, 4)",
               "(y := x @ weight + bias)[:, :y.shape[1] // 4 * 4].unflatten(1, (-1, 4)).mean(-1)",
               "mean(-1)", "amax(-1)"),
}
"""Ten tasks: the file with a reference, its arguments, a right function, and what makes it wrong in place of
what."""


@functools.cache
def described(text: str, arguments: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.py"
        path.write_text(text)
        (Path(folder) / problem_robust_kbench.CONFIG).write_text(arguments)
        return problem_describe_robust_kbench.describe(str(path))


class Robust(ProblemCase):
    def imported(self, text: str, arguments: str) -> tuple[problem_robust_kbench.Problem, dict]:
        files = {"problem.py": text, problem_robust_kbench.CONFIG: arguments}
        d = described(text, arguments)
        for name, content in files.items():
            (self.path / name).write_text(content)
        (self.path / "problem.json").write_text(json.dumps({
            **d["plan"], "format": "robust-kbench", "file": "problem.py",
            "files": {n: hashlib.sha256(c.encode()).hexdigest() for n, c in files.items()}}))
        return problem_robust_kbench.Problem(self.path), d

    def submission(self, problem: problem_robust_kbench.Problem, body: str):
        head = next(line for line in problem.text.splitlines() if line.startswith("def forward_fn"))
        (self.path / "mine.py").write_text(
            f"import torch\nimport torch.nn.functional as F\n\n\n{head}\n    return {body}\n")
        return problem_robust_kbench.Submission(problem, str(self.path / "mine.py"))

    def test_ten_problems_with_a_right_and_a_wrong_submission(self):
        for name, (text, arguments, reference, body, old, new) in PROBLEMS.items():
            with self.subTest(name):
                problem, d = self.imported(text.format(reference), arguments)
                attributes = {a["name"]: a["default"] for a in d["attributes"]}
                for sizes in (d["own"], d["every"]):
                    x = torch.randn(sizes["rows"], sizes.get("cols") or sizes["width"])
                    want = problem.reference(x, **attributes)
                    got = self.submission(problem, body).forward(x, **attributes)
                    self.assertTrue(torch.allclose(want, got, atol=1e-4), sizes)
                    self.assertIn(old, body)
                    got = self.submission(problem, body.replace(old, new)).forward(x, **attributes)
                    self.assertFalse(got.shape == want.shape and torch.allclose(want, got, atol=1e-3))

    def test_sizes_and_attributes_are_the_arguments(self):
        _, d = self.imported(WEIGHTED.format(PRODUCT), SHARED)
        self.assertEqual((d["own"], d["inputs"][0]["shape"]), ({"width": 24, "rows": 50}, ["rows", "width"]))
        self.assertEqual(d["plan"]["differentiable"], [0])
        self.assertIn({"name": "slope", "type": "float", "default": 0.2}, d["attributes"])
        _, d = self.imported(PLAIN.format("torch.relu(x)"), config())
        self.assertEqual((d["own"], d["weak"]), ({"rows": 60, "cols": 40}, []))

    def test_a_kernel_of_cuda_needs_a_gpu(self):
        problem, _ = self.imported(PLAIN.format("torch.relu(x)"), config())
        (self.path / "mine.cu").write_text("#include <torch/extension.h>\n")
        with self.assertRaisesRegex(ImportError, "not here: torch compiles it, which needs a GPU"):
            problem_robust_kbench.Submission(problem, str(self.path / "mine.cu"))
        (self.path / "mine.py").write_text("def forward(x):\n    return x\n")
        with self.assertRaisesRegex(ImportError, "no function forward_fn"):
            problem_robust_kbench.Submission(problem, str(self.path / "mine.py"))

    def test_the_check_of_the_format(self):
        text, arguments, reference, body, old, new = PROBLEMS["product"]
        problem, _ = self.imported(text.format(reference), arguments)
        self.submission(problem, body)
        found = problem_check.checked(str(self.path), str(self.path / "mine.py"))
        self.assertEqual((found["passes"], found.get("trials")), (True, 5))
        self.submission(problem, body.replace(old, new))
        found = problem_check.checked(str(self.path), str(self.path / "mine.py"))
        self.assertEqual((found["passes"], found["element"]["inside"]), (False, False))

    def test_refused_with_a_reason(self):
        text = PLAIN.format("torch.relu(x)")
        for reference, arguments, why in (
            (text, "{}", "lacks something: 'single_input_configs'"),
            (text, "[", "config_forward.json lacks something"),
            (text, config(None, {"depth": 3}), "unexpected keyword argument 'depth'"),
            (text.replace("fn=forward_fn", "f=forward_fn"), config(), "takes no fn"),
            (text.replace("get_inputs", "inputs"), config(), "defines no get_inputs"),
            ("import nothing_of_this_name\n" + text, config(), "imports nothing_of_this_name"),
            (text.replace("torch.relu(x)", "torch.rand_like(x)"), config(), "random numbers of its own"),
            (text + "\n)", config(), "is no Python"),
        ):
            with self.subTest(why):
                with self.assertRaises(Refused) as refused:
                    described(reference, arguments)
                self.assertIn(why, str(refused.exception))


if __name__ == "__main__":
    unittest.main()
