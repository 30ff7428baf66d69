"""Published problems, described and called."""

from __future__ import annotations

import ast
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

import problem_describe_kernelbench  # noqa: E402
import problem_describe_leetgpu  # noqa: E402
import problem_kernelbench  # noqa: E402
import problem_leetgpu  # noqa: E402
import problem_sizes  # noqa: E402
from problem_case import ProblemCase  # noqa: E402
from problem_inspect import Refused  # noqa: E402
from problem_seed import seed_torch  # noqa: E402

GATED = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features, width, slope):
        super().__init__()
        self.linear = nn.Linear(features, width)
        self.slope = slope

    def forward(self, A):
        return nn.functional.leaky_relu(self.linear(A), self.slope)


M, features = 48, 64
width = features // 2
slope = 0.25


def get_inputs():
    return [torch.rand(M, features)]


def get_init_inputs():
    return [features, width, slope]
"""

RELU = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


n = 100


def get_inputs():
    return [torch.rand(n)]
"""

LOSS = """
import torch


class Model(torch.nn.Module):
    def forward(self, x, target):
        return torch.nn.functional.cross_entropy(x, target)


rows, classes = 12, 10


def get_inputs():
    return [torch.rand(rows, classes), torch.randint(0, classes, (rows,))]
"""

SCALED = """
import ctypes

import torch
from core.challenge_base import ChallengeBase, OutTensor, RandTensor


class Challenge(ChallengeBase):
    name = "Scaled product"
    atol = 1e-4
    rtol = 1e-4

    def reference_impl(self, A, v, out, alpha, N, M):
        assert A.shape == (M, N) and A.dtype == torch.float32
        torch.matmul(A, v, out=out)
        out.mul_(alpha)

    def get_solve_signature(self):
        pointer = ctypes.POINTER(ctypes.c_float)
        return {"A": (pointer, "in"), "v": (pointer, "in"), "out": (pointer, "out"),
                "alpha": (ctypes.c_float, "in"), "N": (ctypes.c_int, "in"), "M": (ctypes.c_int, "in")}

    def test(self, n, m):
        return {"A": torch.empty(m, n, device=self.device).uniform_(-1, 1), "v": RandTensor((n,)),
                "out": OutTensor((m,)), "alpha": 0.5, "N": n, "M": m}

    def generate_example_test(self):
        return self.test(2, 3)

    def generate_functional_test(self):
        return [self.test(4, 4), self.test(7, 5), self.test(1, 9)]

    def generate_performance_test(self):
        return self.test(1 << 14, 1 << 14)
"""

HALF = "ceildiv(features - 1, 2)"
ROOT = RELU.replace("torch.relu(x)", "torch.log(x + 0.5)")


class Described(ProblemCase):
    def describe(self, text: str) -> dict:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "1_Problem.py"
            path.write_text(text)
            return problem_describe_kernelbench.describe(str(path))

    def test_sizes_are_constants(self):
        d = self.describe(GATED)
        self.assertEqual([x["name"] for x in d["dims"]], ["m", "features"])
        self.assertEqual(d["inputs"][0], {"name": "a", "dtype": "", "shape": ["m", "features"],
                                          "differentiable": True, "fill": ""})
        self.assertEqual(d["outputs"], [{"name": "y", "dtype": "", "shape": ["m", HALF]}])
        self.assertEqual(d["plan"]["constants"], {
            "M": {"input": 0, "axis": 0}, "features": {"input": 0, "axis": 1},
            "slope": {"attribute": "slope"}})
        self.assertEqual([a["name"] for a in d["attributes"]], ["slope", "weights_seed"])
        self.assertEqual(d["own"], {"m": 48, "features": 64})
        self.assertIn("shifted", d["distributions"])
        self.assertFalse(d["weak"])
        empty = [shape for shape in d["shapes"] if 0 in shape.values()]
        self.assertEqual(len(empty), 1)

    def test_a_check_that_proves_little_is_weak(self):
        self.assertEqual(self.describe(RELU)["weak"], ["the input x"])
        softmax = (RELU.replace("torch.relu(x)", "torch.softmax(x, -1)")
                   .replace("n = 100", "rows, n = 4096, 65536").replace("rand(n)", "rand(rows, n)"))
        self.assertIn("zeros", self.describe(softmax)["weak"])
        small = RELU.replace("torch.relu(x)", "x * 1e-5")
        self.assertEqual(self.describe(small)["weak"], ["zeros", "the answer to other inputs",
                                                        "one value everywhere"])

    def test_weights_that_are_too_large_are_cut_with_the_sizes(self):
        d = self.describe(GATED.replace("features = 48, 64", "features = 48, 1 << 16"))
        self.assertEqual((d["own"]["features"], d["own_needs_gpu"]), (1 << 16, True))
        self.assertLess(d["plan"]["checked"]["features"], 1 << 10)

    def test_integers_are_classes_of_a_size(self):
        d = self.describe(LOSS)
        self.assertEqual(d["inputs"][1]["fill"], "classes of classes ignoring no_class")
        self.assertEqual(d["outputs"][0]["shape"], ["1"])
        self.assertEqual(d["plan"]["differentiable"], [0])

    def test_a_mask_of_bools(self):
        masked = (RELU.replace("x):", "x, mask):").replace("torch.relu(x)", "torch.cumsum(x * mask, 0)")
                  .replace("[torch.rand(n)]", "[torch.rand(n), torch.rand(n) > 0.5]"))
        self.assertEqual(self.describe(masked)["inputs"][1]["fill"], "mask")

    def test_data_that_the_reference_takes(self):
        d = self.describe(ROOT)
        self.assertEqual((d["inputs"][0]["fill"], d["distributions"]), ("uniform", ["normal"]))

    def test_a_structure_of_the_inputs_is_drawn_or_refused(self):
        two = RELU.replace("forward(self, x)", "forward(self, x, other)").replace(
            "torch.relu(x)", "torch.cumsum(x * other, 0) + other").replace("n = 100", "n = 24")
        x = "torch.rand(n, n)"
        for other, why in (
            ("torch.triu(torch.rand(n, n))", "other is triangular"),
            ("torch.diag(torch.rand(n))", "other is triangular"),
            (f"(lambda t: t + t.T)({x})", "other is symmetric"),
            ("torch.rand(n).sort().values", "other is sorted"),
            ("torch.ones(n)", "other has one value alone"),
            ("torch.eye(n)[torch.randperm(n)]", "other has one element in each row"),
            ("torch.randint(0, 2, (n,)) * 2.0 - 1", "other has few values"),
            ("torch.nn.functional.dropout(torch.randn(n, n))", "other has one value in many places"),
            ("torch.randint(-9999, 9999, (n,)).float()", "other has integers alone"),
            ("torch.rand(n, generator=torch.Generator().manual_seed(1))", "other is the same in every draw"),
            ("torch.rand(n, n).triu() > 0", "other is triangular"),
        ):
            with self.subTest(why):
                text = two.replace("[torch.rand(n)]", f"[{x}, {other}]")
                self.assertEqual([i["fill"] for i in self.describe(text)["inputs"]], ["", "drawn"])
                with self.assertRaises(Refused) as refused, self.other_sizes_cannot_be_drawn():
                    self.describe(text)
                self.assertIn(why, str(refused.exception))
        alike = two.replace("[torch.rand(n)]", f"[{x}] * 2")
        self.assertEqual([i["fill"] for i in self.describe(alike)["inputs"]], ["drawn"] * 2)
        with (self.assertRaisesRegex(Refused, "x and other are equal in every draw"),
              self.other_sizes_cannot_be_drawn()):
            self.describe(alike)
        mask = self.describe(two.replace("[torch.rand(n)]", f"[{x}, torch.randint(0, 2, (n,)).float()]"))
        self.assertEqual((mask["inputs"][1]["fill"], mask["inputs"][1]["differentiable"]), ("mask", False))
        for ordinary in ("torch.rand(n)", "torch.randn(n, n)", "torch.tensor(0.5)", "torch.randn(2, n, n)"):
            with self.subTest(ordinary):
                d = self.describe(two.replace("[torch.rand(n)]", f"[{x}, {ordinary}]"))
                self.assertEqual(d["inputs"][1]["fill"], "")

    @staticmethod
    def other_sizes_cannot_be_drawn():
        """As of a format whose problems draw inputs at their own sizes alone."""
        return unittest.mock.patch.object(problem_describe_kernelbench.File, "can_draw", False)

    def test_a_seed_gives_the_numbers_that_it_gives_with_torch(self):
        queued = len(torch.cuda._queued_calls)
        seed_torch(5)
        ours = torch.rand(3)
        self.assertEqual(len(torch.cuda._queued_calls), queued)  # each holds a formatted stack
        torch.manual_seed(5)
        self.assertTrue(torch.equal(torch.rand(3), ours))

    def test_a_reference_that_writes_into_a_tensor_of_its_own(self):
        rows = RELU.replace("return torch.relu(x)", "y = torch.empty(x.shape)\n"
                            "        for i in range(x.shape[0]):\n            y[i] = torch.exp(x[i])\n"
                            "        return y").replace("n = 100", "n = 20")
        self.assertIn("normal", self.describe(rows)["distributions"])

    def test_data_that_sixteen_bits_hold(self):
        product = (RELU.replace("x):", "x, y):").replace("torch.relu(x)", "torch.softmax(x @ y, -1)")
                   .replace("[torch.rand(n)]", "[torch.randn(n, 16).half(), torch.randn(16, n).half()]"))
        self.assertNotIn("shifted", self.describe(product)["distributions"])

    def test_refused_with_a_reason(self):
        for text, why in (
            (RELU.replace("return torch.relu(x)", "self.calls = getattr(self, 'calls', 0) + 1\n"
                          "        return x * self.calls"), "it has a state"),
            ("class Model(:", "line 1 is no Python"),
            ("import nothing_of_this_name", "imports nothing_of_this_name, which is not installed"),
            ("class Model: pass", "defines no get_inputs"),
            (RELU.replace("torch.relu(x)", "torch.dropout(x, 0.5, True)"), "random numbers of its own"),
            (RELU.replace("torch.relu(x)", "x - x + 1"), "the same for other inputs"),
            (RELU.replace("torch.relu(x)", "torch.special.i0(x)"), "has no bound"),
            (RELU.replace("torch.rand(n)", "torch.rand(n).cuda()"), "needs a GPU"),
            (RELU.replace("torch.rand(n)", "'text'"), "an input is a str"),
            (RELU.replace("[torch.rand(n)]", "{'x': torch.rand(n)}"), "its get_inputs() returns a dict"),
            (RELU.replace("return [torch.rand(n)]", "torch.rand(n)"), "its get_inputs() returns nothing"),
            (RELU.replace("n = 100", "n = 10**4000"), "calling it raised TypeError: rand()"),
            ("raise OSError('urlopen error')", "wants the network"),
            ("raise RuntimeError('scaled only supports rows on a CPU')", "scaled in a form that torch has"),
            ("raise RuntimeError('Install a nothing_of_it build')", "it wants nothing_of_it, which is not"),
            ("raise RuntimeError('install torch again')", "raised RuntimeError: install torch again"),
        ):
            with self.subTest(why):
                with self.assertRaises(Refused) as refused:
                    self.describe(text)
                self.assertIn(why, str(refused.exception))
                self.assertNotIn("frame #0", str(refused.exception))

    def test_an_infinity_keeps_its_value(self):
        d = self.describe(RELU.replace("torch.relu(x)", "x.clamp(min=low)") + "\n\nlow = -1e400\n")
        self.assertEqual((d["attributes"], list(d["plan"]["constants"])), ([], ["n"]))


class Challenge(ProblemCase):
    def setUp(self):
        super().setUp()
        self.path = self.path / "challenge.py"

    def describe(self, text: str) -> dict:
        self.path.write_text(text)
        return problem_describe_leetgpu.describe(str(self.path))

    def test_sizes_follow_from_the_tests(self):
        d = self.describe(SCALED)
        self.assertEqual([x["name"] for x in d["dims"]], ["n", "m"])
        self.assertEqual([x["shape"] for x in d["inputs"]], [["m", "n"], ["n"]])
        self.assertEqual([x["shape"] for x in d["outputs"]], [["m"]])
        self.assertEqual(d["attributes"], [{"name": "alpha", "type": "float", "default": 0.5}])
        self.assertEqual(d["own"], {"n": 1 << 14, "m": 1 << 14})
        self.assertTrue(d["own_needs_gpu"])
        self.assertEqual(d["plan"]["parameters"], ["a", "v", "out", "alpha", "n", "m"])
        self.assertEqual(d["plan"]["their_check"], {"atol": 1e-4, "rtol": 1e-4})
        self.assertGreater(len(d["shapes"]), 5)
        self.assertFalse([shape for shape in d["shapes"] if 0 in shape.values()])

    def test_a_challenge_that_says_its_tolerances_when_it_is_made(self):
        stated = SCALED.replace("""    name = "Scaled product"
    atol = 1e-4
    rtol = 1e-4
""", """    def __init__(self):
        super().__init__(name="Scaled product", atol=1e-3, rtol=1e-4, num_gpus=1, access_tier="free")
""")
        made = problem_leetgpu.challenge(stated, "challenge.py", True)
        self.assertEqual((made.device, made.atol, made.rtol), ("cpu", 1e-3, 1e-4))

    def test_numbers_are_judged_at_the_values_of_the_tests(self):
        several = (SCALED.replace("def test(self, n, m)", "def test(self, n, m, alpha=2)")
                   .replace('"alpha": 0.5', '"alpha": alpha')
                   .replace("self.test(7, 5)", "self.test(7, 5, -1.5)")
                   .replace("self.test(1 << 14, 1 << 14)", "self.test(1 << 14, 1 << 14, 3)"))
        d = self.describe(several)
        self.assertEqual(d["attributes"], [{"name": "alpha", "type": "float", "default": 2.0}])
        self.assertEqual(d["pinned"], [{"sizes": d["every"], "attributes": {"alpha": alpha}}
                                       for alpha in (3.0, -1.5)])
        self.assertEqual(d["own_attributes"], {"alpha": 3.0})
        asserted = several.replace("assert A", "assert alpha == 2 or N == 7\n        assert A")
        d = self.describe(asserted)  # 3 belongs to the timed test, whose own sizes are judged with it
        self.assertEqual(d["pinned"], [{"sizes": {"n": 7, "m": 5}, "attributes": {"alpha": -1.5}}])
        with self.assertRaisesRegex(Refused, "with alpha = -1.5, as one of its tests has it"):
            self.describe(asserted.replace("N == 7", "alpha == 3"))

    def test_the_truth_is_computed_in_fp64(self):
        d = self.describe(SCALED)
        plan = {**d["plan"], "file": "challenge.py",
                "files": {"challenge.py": hashlib.sha256(SCALED.encode()).hexdigest()}}
        (self.path.parent / "problem.json").write_text(json.dumps(plan))
        problem = problem_leetgpu.Problem(self.path.parent)
        a, v = torch.randn(3, 5, dtype=torch.float64), torch.randn(5, dtype=torch.float64)
        self.assertTrue(torch.allclose(problem.reference(a, v, alpha=2.0), 2 * (a @ v), atol=1e-14))

    def test_sizes_that_the_reference_asserts(self):
        even = SCALED.replace("assert A.shape", "assert N % 4 == 0 or N < 3\n        assert A.shape").replace(
            "self.test(7, 5)", "self.test(8, 5)")
        d = self.describe(even)
        self.assertTrue(all(s["n"] % 4 == 0 or s["n"] < 3 for s in d["shapes"]))
        self.assertGreater(max(s["n"] for s in d["shapes"]), 3)

    def test_refused_with_a_reason(self):
        for old, new, why in (
            ('"out": (pointer, "out")', '"out": (pointer, "over")', "out is a pointer (over) to c_float"),
            ('OutTensor((m,))', 'OutTensor((m,), dtype="int32")', "out is of torch.int32"),
            ("self.test(4, 4), self.test(7, 5), self.test(1, 9)", "", "too few"),
            ("(n,)", "(n * n % 7 + 1,)", "in a way that triad does not find"),
            ("out.mul_(alpha)", "out.copy_(torch.special.i0(out))", "has no bound"),
            ("torch.matmul(A, v, out=out)", "out.random_()", "random numbers of its own"),
            ("class Challenge", "raise OSError('urlopen error')\nclass Challenge", "wants the network"),
        ):
            with self.subTest(why):
                self.assertIn(old, SCALED)
                with self.assertRaises(Refused) as refused:
                    self.describe(SCALED.replace(old, new))
                self.assertIn(why, str(refused.exception))


class Called(ProblemCase):
    """An imported problem, and its submissions."""

    def problem(self, text: str) -> problem_kernelbench.Problem:
        (self.path / "problem.py").write_text(text)
        plan = problem_describe_kernelbench.describe(str(self.path / "problem.py"))["plan"]
        plan.update(file="problem.py",
                    files={"problem.py": hashlib.sha256(text.encode()).hexdigest()})
        (self.path / "problem.json").write_text(json.dumps(plan))
        return problem_kernelbench.Problem(self.path)

    def row(self, text: str):
        path = self.path / "submission.py"
        path.write_text(text)
        return problem_kernelbench.submission(str(self.path), str(path), "mine/submission")[0]

    def test_what_the_problem_draws_has_its_structure(self):
        squares = RELU.replace("torch.relu(x)", "torch.cumsum(x, 0)").replace(
            "torch.rand(n)", "torch.rand(n, n).tril()").replace("n = 100", "n = 24")
        problem = self.problem(squares)
        drawn, = problem.draw([(7, 7)], {}, 5)
        self.assertEqual((drawn.shape, bool(drawn.triu(1).any()), bool(drawn.any())), ((7, 7), False, True))
        self.assertTrue(torch.equal(drawn, problem.draw([(7, 7)], {}, 5)[0]))
        self.assertFalse(torch.equal(drawn, problem.draw([(7, 7)], {}, 6)[0]))

    def test_weights_are_equal_by_their_seed(self):
        problem = self.problem(GATED)
        right = self.row(GATED.replace("class Model(", "class ModelNew("))
        # no format asks for the same bits in two calls
        self.assertEqual(set(right.nondeterministic), {*right.outputs, *right.gradients})
        self.assertEqual(problem.rows()[0].nondeterministic, ())
        x, attributes = torch.randn(5, 3), {"slope": 0.5, "weights_seed": 7}
        want = problem.reference(x, **attributes)
        self.assertTrue(torch.equal(right.forward(x, **attributes), want))
        self.assertFalse(torch.equal(problem.reference(x, slope=0.5, weights_seed=8), want))
        self.assertTrue(torch.allclose(problem.reference(x.double(), **attributes), want.double(), atol=1e-6))
        self.assertIsNone(right.accepts("backward", x, want, **attributes))

    def test_sixteen_bits_are_judged_under_the_contract_of_the_spec(self):
        for dtype, contract in (("bfloat16", "eager"), ("float32", "fp32")):
            problem = self.problem(RELU.replace("rand(n)", f"rand(n, dtype=torch.{dtype})"))
            row = self.row(RELU.replace("class Model(", "class ModelNew("))
            for r in (row, *problem.rows()):
                self.assertEqual({r.contract_of(d, r.dtypes[0]) for d in ("forward", "backward")}, {contract})

    def test_calls_that_the_format_does_not_make(self):
        self.problem(RELU)
        row = self.row("import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
                       "        assert x.numel() == 100\n        return x.detach().relu()\n")
        self.assertIsNone(row.accepts("forward", torch.ones(100)))
        self.assertIn("AssertionError at sizes that are not the problem's", row.accepts("forward",
                                                                                       torch.ones(99)))
        self.assertIn("dense tensors", row.accepts("forward", torch.ones(200)[::2]))
        self.assertIn("leaves autograd nothing", row.accepts("backward", torch.ones(100), torch.ones(100)))

    def test_a_fault_is_no_size_declined(self):
        self.problem(RELU)
        row = self.row("import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
                       "        return nothing_of_this_name\n")
        self.assertIsNone(row.accepts("forward", torch.ones(99)))

    def test_without_a_gpu_no_cuda_is_compiled(self):
        self.problem(RELU)
        with self.assertRaisesRegex(ImportError, "triad: not here: it compiles CUDA .* needs a GPU"):
            self.row("from torch.utils.cpp_extension import load_inline\n"
                     "made = load_inline('x', cpp_sources='', cuda_sources='')\nclass ModelNew: pass\n")

    def test_a_changed_copy_is_not_judged(self):
        self.problem(RELU)
        (self.path / "problem.py").write_text(RELU + "# changed\n")
        with self.assertRaisesRegex(ImportError, "no longer the file"):
            problem_kernelbench.Problem(self.path)


class Sizes(ProblemCase):
    def test_constants_of_a_file(self):
        tree = ast.parse("a = 3\nb: float = -2.5\nc = a * 2\nd, e = 'x', True\nf = [1]\na = 4\nd = c\n")
        self.assertEqual(problem_kernelbench.names_of(tree), {"a": 4, "b": -2.5, "f_0": 1})
        self.assertEqual(problem_kernelbench.names_of(ast.parse("n = 1024 * 2\ns = (n, 4, 2 ** 3)\n")),
                         {"n": 2048, "s_1": 4, "s_2": 8})
        shape = problem_kernelbench.execute("s = (2, 3)\n", "x.py", {"s_1": 7}).s
        self.assertEqual(shape, (2, 7))
        module = problem_kernelbench.execute("a, b = 2, 3\nc = a * b\n", "x.py", {"a": 5})
        self.assertEqual((module.a, module.c), (5, 15))

    def test_how_sizes_follow(self):
        def run(v):
            if v["c"] % v["g"]:
                raise ValueError("the groups divide the channels")
            return {("input", 0, 0): v["b"], ("input", 0, 1): v["c"], ("input", 0, 2): v["h"],
                    ("output", 0, 0): v["b"] * v["c"], ("output", 0, 1): (v["h"] + 2 - v["k"]) // 2 + 1,
                    ("output", 0, 2): 2 * v["h"] + 3, ("output", 0, 3): 7}
        probes = problem_sizes.Probes(run, {"b": 16, "c": 64, "g": 8, "h": 224, "k": 3})
        moving = problem_sizes.vary(probes)
        self.assertEqual(moving, ["b", "c", "h", "k"])
        free, found = problem_sizes.expressions(probes, moving)
        self.assertEqual(free, ["b", "c", "h"])
        self.assertEqual(list(found.values()), ["b", "c", "h", "b * c", "ceildiv(h, 2)", "2 * h + 3", "7"])
        probes.begin()
        shapes = list(problem_sizes.shapes(probes, free))
        self.assertTrue(all(s["g"] == 8 and s["k"] == 3 for s in shapes))
        self.assertEqual(shapes[0]["c"], 24)  # not groups of one element
        self.assertLess(max(shapes[0]["b"], shapes[0]["h"]), 12)

    def test_small_sizes_tell_rounded_divisions_apart(self):
        def run(v):
            if v["h"] < 11:
                raise ValueError("the window is larger than the image")
            return {("input", 0, 0): v["h"], ("output", 0, 0): v["h"] // 11}
        probes = problem_sizes.Probes(run, {"h": 2048})
        free, found = problem_sizes.expressions(probes, problem_sizes.vary(probes))
        for values in problem_sizes.shapes(probes, free):
            probes.perhaps(values)
        _, found = problem_sizes.expressions(probes, free)
        self.assertEqual(found["output", 0, 0], "ceildiv(h - 10, 11)")

    def test_equal_sizes_that_must_be(self):
        def run(v):
            if v["a"] != v["b"]:
                raise ValueError("they broadcast")
            return {("input", 0, 0): v["a"], ("input", 0, 1): v["b"]}
        probes = problem_sizes.Probes(run, {"a": 64, "c": 64, "b": 64})
        moving = problem_sizes.vary(probes)
        free, found = problem_sizes.expressions(probes, moving)
        self.assertEqual((probes.linked, free, list(found.values())), ({"b": "a"}, ["a"], ["a", "a"]))


if __name__ == "__main__":
    unittest.main()
