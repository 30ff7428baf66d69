"""Problems in the format of kernelbench.com's decks, described and called."""

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
import problem_deck  # noqa: E402
import problem_describe_deck  # noqa: E402
from problem_case import ProblemCase  # noqa: E402
from problem_inspect import Refused  # noqa: E402

GATHERED = """
import torch

ROWS, WIDTH, PICKED = 6, 4, 3


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width, dtype=torch.bfloat16))

    def forward(self, x, offsets):
        out = torch.empty(x.shape, dtype=x.dtype)
        for i in range(len(offsets) - 1):
            begin, end = int(offsets[i].item()), int(offsets[i + 1].item())
            out[begin:end] = x[begin:end] * self.weight
        return out


def get_inputs():
    torch.manual_seed(0)
    cuts = torch.randperm(ROWS - 1)[:PICKED].sort().values + 1
    offsets = torch.cat([torch.zeros(1), cuts, torch.full((1,), ROWS)]).to(torch.int32)
    return [torch.randn(ROWS, WIDTH, dtype=torch.bfloat16), offsets]


def get_init_inputs():
    return [WIDTH]
"""

SHAPES = """
SHAPES = [{"rows": 1 << 20, "width": 256, "picked": 8}, {"rows": 4096, "width": 1024, "picked": 4}]
"""
STATED = """
name: 01_gathered
tolerance: {torch.bfloat16: 0.02}
forbidden: ["torch.mul"]
"""
RIGHT = GATHERED.replace("x[begin:end] * self.weight", "self.weight * x[begin:end]")


@functools.cache
def described(texts: tuple) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts:
            (Path(folder) / name).write_text(text)
        return problem_describe_deck.describe(str(Path(folder) / "problem.py"))


class Deck(ProblemCase):
    def describe(self, reference: str = GATHERED, shapes: str = SHAPES, stated: str = STATED) -> dict:
        texts = {"problem.py": reference, "shapes.py": shapes, "problem.yaml": stated}
        for name, text in texts.items():
            (self.path / name).write_text(text)
        found = described(tuple(texts.items()))
        (self.path / "problem.json").write_text(json.dumps({
            **found["plan"], "format": "deck", "file": "problem.py",
            "files": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}}))
        return found

    def test_the_shapes_of_the_deck_are_cut_and_come_first(self):
        d = self.describe()
        self.assertEqual([i["shape"] for i in d["inputs"]], [["rows", "width"], ["picked + 2"]])
        self.assertEqual([i["fill"] for i in d["inputs"]], ["drawn", "drawn"])
        self.assertEqual((d["own"], d["own_needs_gpu"]), ({"rows": 1 << 20, "width": 256, "picked": 8}, True))
        self.assertEqual(d["shapes"][0], {"rows": 512, "width": 256, "picked": 8})
        self.assertEqual(d["shapes"][1], {"rows": 128, "width": 1024, "picked": 4})
        self.assertEqual((d["plan"]["their_check"], d["plan"]["forbidden"]),
                         ({"atol": 0.02, "rtol": 0.02}, ["torch.mul"]))
        self.assertEqual(d["plan"]["sizes"], [{"rows": 1 << 20, "width": 256, "picked": 8},
                                              {"rows": 4096, "width": 1024, "picked": 4}])

    def test_own_sizes_have_a_truth_that_takes_seconds(self):
        d = self.describe(shapes=SHAPES.replace("1 << 20", "1 << 22"))
        self.assertEqual(d["plan"]["sizes"], [{"rows": 4096, "width": 1024, "picked": 4}])
        d = self.describe(shapes=SHAPES.replace("1 << 20", "1 << 22").replace("4096", "1 << 22"))
        self.assertEqual(d["plan"]["sizes"], [d["shapes"][0]])

    def test_a_seed_of_its_own_does_not_make_the_inputs_the_same(self):
        self.describe()
        problem = problem_deck.Problem(self.path)
        attributes = {"of_picked": 2}
        first, second = (problem.draw([(9, 5), (4,)], attributes, seed) for seed in (1, 2))
        self.assertEqual([t.shape for t in first], [(9, 5), (4,)])
        self.assertFalse(torch.equal(first[0], second[0]))
        self.assertTrue(torch.equal(first[0], problem.draw([(9, 5), (4,)], attributes, 1)[0]))
        self.assertNotEqual(torch.initial_seed(), 0)

    def test_a_size_that_follows_from_none(self):
        pool = (GATHERED.replace("torch.randn(ROWS,", "torch.randn(ROWS + ROWS // PICKED,")
                .replace("torch.empty(x.shape,", "torch.empty(ROWS, WIDTH,"))
        d = self.describe(pool)
        self.assertEqual(d["inputs"][0]["shape"], ["size_0_0", "width"])
        for shape in (d["own"], d["shapes"][0]):
            self.assertEqual(shape["size_0_0"], shape["rows"] + shape["rows"] // shape["picked"])

    def test_inputs_that_its_check_alone_draws(self):
        with self.assertRaisesRegex(Refused, "gives no offsets, which its forward takes: only its own check"):
            self.describe(GATHERED.replace(", offsets]", "]"))
        with self.assertRaisesRegex(Refused, "gives no x or offsets, which"):
            self.describe(GATHERED.split("def get_inputs")[0]
                          + "def get_inputs():\n    return []\n\n\ndef get_init_inputs():\n    return [4]\n")
        with self.assertRaisesRegex(Refused, "defines no get_inputs"):
            self.describe(GATHERED.replace("def get_inputs", "def init_state"))

    def test_a_submission_has_the_weights_of_the_reference(self):
        self.describe()
        problem = problem_deck.Problem(self.path)
        tensors = tuple(problem.draw([(9, 5), (4,)], {"of_picked": 2}, 1))
        want = problem.reference(*tensors, of_picked=2, weights_seed=3)
        for text, right in ((RIGHT, True), (RIGHT.replace("self.weight *", "1.5 *"), False)):
            (self.path / "solution.py").write_text(text)
            called = problem_deck.Submission(problem, str(self.path / "solution.py"))
            got = called.forward(*tensors, of_picked=2, weights_seed=3)
            self.assertEqual(torch.equal(got, want), right)
        (self.path / "solution.py").write_text(RIGHT.replace("weight", "w"))
        called = problem_deck.Submission(problem, str(self.path / "solution.py"))
        with self.assertRaisesRegex(RuntimeError, "weight"):
            called.forward(*tensors, of_picked=2, weights_seed=3)
        (self.path / "solution.py").write_text(RIGHT.replace("class Model", "class ModelNew"))
        with self.assertRaisesRegex(ImportError, "no class Model,"):
            problem_deck.Submission(problem, str(self.path / "solution.py"))

    def test_an_answer_in_the_memory_of_the_last_is_one_the_format_reads(self):
        self.describe()
        (self.path / "solution.py").write_text(RIGHT.replace(
            "out = torch.empty(x.shape, dtype=x.dtype)",
            "out = self.__dict__.setdefault('kept', torch.empty(x.shape, dtype=x.dtype))"))
        problem = problem_deck.Problem(self.path)
        called = problem_deck.Submission(problem, str(self.path / "solution.py"))
        tensors = tuple(problem.draw([(9, 5), (4,)], {"of_picked": 2}, 1))
        first, second = (called.forward(*tensors, of_picked=2, weights_seed=0) for _ in range(2))
        self.assertNotEqual(first.data_ptr(), second.data_ptr())

    def test_the_check_of_the_deck(self):
        self.describe()
        (self.path / "solution.py").write_text(RIGHT)
        found = problem_check.checked(str(self.path), str(self.path / "solution.py"))
        self.assertEqual((found["passes"], found["trials"]), (True, 3))
        (self.path / "solution.py").write_text(RIGHT.replace("self.weight *", "1.5 *"))
        found = problem_check.checked(str(self.path), str(self.path / "solution.py"))
        self.assertEqual((found["passes"], found["element"]["inside"]), (False, False))
        (self.path / "solution.py").write_text(RIGHT + "# torch.mul\n")
        found = problem_check.checked(str(self.path), str(self.path / "solution.py"))
        self.assertEqual((found["passes"], found["why"]), (False, "it holds the word torch.mul"))

    def test_the_check_runs_triton_in_its_interpreter(self):
        self.describe()
        imports = "import torch\nimport triton\nimport triton.language as tl\n"
        scaled = RIGHT.replace("import torch\n", imports, 1)
        kernel = ("@triton.jit\ndef scale(x, w, y, n, width, block: tl.constexpr):\n"
                  "    i = tl.program_id(0) * block + tl.arange(0, block)\n"
                  "    v = tl.load(x + i, i < n).to(tl.float32)\n"
                  "    v *= tl.load(w + i % width, i < n).to(tl.float32)\n"
                  "    tl.store(y + i, v.to(tl.bfloat16), i < n)\n\n\nclass Model")
        begin, end = scaled.index("        out = torch.empty"), scaled.index("\n\n\ndef get_inputs")
        scaled = (scaled[:begin] + "        out = torch.empty_like(x)\n"
                  "        n = x.numel()\n"
                  "        grid = (triton.cdiv(n, 4096),)\n"
                  "        scale[grid](x, self.weight, out, n, x.shape[1], 4096)\n"
                  "        return out" + scaled[end:]).replace("class Model", kernel, 1)
        (self.path / "solution.py").write_text(scaled)
        found = problem_check.checked(str(self.path), str(self.path / "solution.py"))
        self.assertEqual((found["passes"], found.get("why")), (True, None))

    def test_refused_with_a_reason(self):
        for reference, shapes, stated, why in (
            (GATHERED, "SHAPES = []", STATED, "has no SHAPES"),
            (GATHERED, 'SHAPES = [{"depth": 3}]', STATED, "does not assign: DEPTH"),
            (GATHERED, "SHAPES = open('nothing')", STATED, "reading its shapes.py"),
            (GATHERED, SHAPES, STATED + "world_size: 4\n", "several GPUs"),
            (GATHERED, SHAPES, STATED.replace("0.02", "[]"), "its tolerance is no number"),
        ):
            with self.subTest(why):
                with self.assertRaises(Refused) as refused:
                    self.describe(reference, shapes, stated)
                self.assertIn(why, str(refused.exception))


if __name__ == "__main__":
    unittest.main()
