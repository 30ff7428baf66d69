"""Problems whose submission is a function of pointers and numbers: what their tensors are, and how they are
drawn."""

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
import problem_describe_leetgpu  # noqa: E402
import problem_leetgpu  # noqa: E402
import problem_recipes  # noqa: E402
import problem_sizes  # noqa: E402
from problem_case import ProblemCase  # noqa: E402
from problem_inspect import Refused  # noqa: E402

CHALLENGE = """
import ctypes

import torch
from core.challenge_base import ChallengeBase

F, I = ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_int)
N = (ctypes.c_int, "in")


class Challenge(ChallengeBase):
    atol = rtol = 1e-5

    def generate_example_test(self):
        return self.test(*TESTS[0])

    def generate_functional_test(self):
        return [self.test(*numbers) for numbers in TESTS[1:]]

    def generate_performance_test(self):
        return self.test(*TESTS[-1])
"""

IN_PLACE = CHALLENGE + """
    def get_solve_signature(self):
        return {"data": (F, "inout"), "N": N}

    def reference_impl(self, data, N):
        data[:] = 2 * torch.flip(data, [0])

    def test(self, n):
        return {"data": torch.rand(n) - 0.5, "N": n}


TESTS = [(3,), (8,), (40,), (100,)]
"""

BINS = CHALLENGE + """
    def get_solve_signature(self):
        return {"image": (I, "in"), "counts": (I, "out"), "rows": N, "cols": N, "bins": N}

    def reference_impl(self, image, counts, rows, cols, bins):
        assert image.shape == (rows * cols,)
        counts[:] = torch.bincount(image.clamp(max=bins - 1), minlength=bins)

    def test(self, rows, cols, bins):
        return {"image": torch.randint(0, 40, (rows * cols,), dtype=torch.int32),
                "counts": torch.zeros(bins, dtype=torch.int32), "rows": rows, "cols": cols, "bins": bins}


TESTS = [(2, 3, 4), (5, 5, 16), (64, 3, 33), (17, 19, 7)]
"""

WINDOW = CHALLENGE + """
    def get_solve_signature(self):
        return {"x": (F, "in"), "y": (F, "out"), "B": N, "H": N, "W": N, "window": N, "stride": N,
                "padding": N}

    def reference_impl(self, x, y, B, H, W, window, stride, padding):
        y.copy_(torch.nn.functional.max_pool2d(x, window, stride, padding).flatten())

    def test(self, b, h, w, k, s, p):
        size = b * ((h + 2 * p - k) // s + 1) * ((w + 2 * p - k) // s + 1)
        return {"x": torch.randn(b, h, w), "y": torch.empty(size), "B": b, "H": h, "W": w, "window": k,
                "stride": s, "padding": p}


TESTS = [(1, 4, 4, 2, 2, 0), (2, 5, 7, 3, 1, 1), (3, 9, 8, 3, 2, 1), (1, 6, 12, 2, 1, 0),
         (2, 16, 16, 4, 3, 2)]
"""

SPARSE = CHALLENGE + """
    def get_solve_signature(self):
        return {"A": (F, "in"), "x": (F, "in"), "y": (F, "out"), "M": N, "K": N, "nnz": N}

    def reference_impl(self, A, x, y, M, K, nnz):
        y.copy_(A @ x)

    def test(self, m, k):
        a = torch.randn(m, k) * (torch.rand(m, k) < 0.3)
        return {"A": a, "x": torch.randn(k), "y": torch.empty(m), "M": m, "K": k, "nnz": int((a != 0).sum())}


TESTS = [(4, 40), (30, 50), (17, 29), (64, 64)]
"""

TRIANGLE = CHALLENGE + """
    def get_solve_signature(self):
        return {"A": (F, "in"), "y": (F, "out"), "N": N}

    def reference_impl(self, A, y, N):
        y.copy_(A.view(N, N).sum(1))

    def test(self, n):
        return {"A": torch.randn(n, n).tril(), "y": torch.empty(n), "N": n}


TESTS = [(4,), (30,), (17,), (64,)]
"""

GRID = CHALLENGE + """
    def get_solve_signature(self):
        return {"grid": (I, "in"), "y": (I, "out"), "rows": N, "cols": N, "last": N}

    def reference_impl(self, grid, y, rows, cols, last):
        assert last < rows
        y[0] = grid.view(rows, cols)[last].sum()

    def test(self, rows, cols):
        return {"grid": torch.randint(0, 2, (rows * cols,), dtype=torch.int32),
                "y": torch.zeros(1, dtype=torch.int32), "rows": rows, "cols": cols, "last": rows - 1}


TESTS = [(2, 2), (4, 5), (6, 9), (9, 7), (500, 500)]
"""

FACTOR = CHALLENGE + """
    def get_solve_signature(self):
        return {"X": (F, "in"), "y": (F, "out"), "M": N, "K": N}

    def reference_impl(self, X, y, M, K):
        y.copy_(torch.linalg.cholesky(X.T @ X).diagonal())

    def test(self, m, k):
        return {"X": torch.randn(m, k), "y": torch.empty(k), "M": m, "K": k}


TESTS = [(5, 3), (6, 2), (8, 4), (20, 5), (32, 32)]
"""

WEIGHTS = CHALLENGE + """
    def get_solve_signature(self):
        return {"x": (F, "in"), "w": (F, "in"), "y": (F, "out"), "M": N}

    def reference_impl(self, x, w, y, M):
        y.copy_(x @ w)

    def test(self, m):
        return {"x": torch.randn(m, 4), "w": torch.tensor([1e4, -3, 0.5, 7e-3]), "y": torch.empty(m), "M": m}


TESTS = [(3,), (8,), (12,), (20,)]
"""


class Functions(ProblemCase):
    def describe(self, text: str) -> dict:
        (self.path / "problem.py").write_text(text)
        return problem_describe_leetgpu.describe(str(self.path / "problem.py"))

    def problem(self, d: dict, text: str) -> problem_leetgpu.Problem:
        plan = {**d["plan"], "file": "problem.py",
                "files": {"problem.py": hashlib.sha256(text.encode()).hexdigest()}}
        (self.path / "problem.json").write_text(json.dumps(plan))
        return problem_leetgpu.Problem(self.path)

    def test_an_output_in_the_place_of_an_input(self):
        d = self.describe(IN_PLACE)
        self.assertEqual(([t["name"] for t in d["inputs"]], [t["name"] for t in d["outputs"]]),
                         (["data"], ["data_out"]))
        self.assertEqual((d["in_place"], d["plan"]["parameters"]), ({"data_out": "data"}, ["data", "n"]))
        x = torch.randn(5, dtype=torch.float64)
        kept = x.clone()
        self.assertTrue(torch.equal(self.problem(d, IN_PLACE).reference(x, of_n=5), 2 * x.flip(0)))
        self.assertTrue(torch.equal(x, kept))

    def test_integers_and_sizes_that_no_input_shows(self):
        d = self.describe(BINS)
        self.assertEqual((d["dtypes"], d["plan"]["contract"]), (["int32"], "exact"))
        self.assertEqual([t["shape"] for t in d["inputs"] + d["outputs"]], [["rows * cols"], ["bins"]])
        self.assertEqual({a["name"]: a["default"] for a in d["attributes"]},
                         {"of_rows": "rows", "of_cols": "cols", "of_bins": "bins"})
        self.assertEqual(d["plan"]["parameters"], ["image", "counts", "of_rows", "of_cols", "of_bins"])
        problem = self.problem(d, BINS)
        attributes = {"of_rows": 5, "of_cols": 3, "of_bins": 7}
        image, = problem.draw([(15,)], attributes, 3)
        self.assertEqual((image.dtype, image.shape), (torch.int32, (15,)))
        want = torch.bincount(image.clamp(max=6), minlength=7).int()
        self.assertTrue(torch.equal(problem.reference(image, **attributes), want))
        wide = torch.cat([problem.draw([(1000,)], attributes, seed)[0] for seed in range(4)])
        self.assertEqual((int(wide.min()), int(wide.max())), (0, 39))

    def test_the_places_of_a_window(self):
        d = self.describe(WINDOW)
        self.assertEqual(d["outputs"][0]["shape"],
                         ["b * ceildiv(h + 2 * padding - window + 1, stride) * "
                          "ceildiv(w + 2 * padding - window + 1, stride)"])
        self.assertGreater(len({s["stride"] for s in d["shapes"]}), 1)
        self.assertFalse([s for s in d["shapes"] if 0 in (s["b"], s["h"], s["stride"])])
        self.assertNotIn("padding", [x["name"] for x in d["dims"] if x["empties"]])

    def test_a_number_that_counts_elements(self):
        d = self.describe(SPARSE)
        count = next(a for a in d["attributes"] if a["name"] == "nnz")
        self.assertEqual((count["default"], d["pinned"]), ("ceildiv(m * k, 3)", []))
        a, _ = self.problem(d, SPARSE).draw([(7, 9), (9,)], {"nnz": 21}, 1)
        self.assertEqual(int(a.count_nonzero()), 21)

    def test_a_triangle(self):
        d = self.describe(TRIANGLE)
        self.assertEqual([t["fill"] for t in d["inputs"]], ["drawn"])
        a, = self.problem(d, TRIANGLE).draw([(7, 7)], {}, 1)
        self.assertTrue(torch.equal(a, a.tril()))
        self.assertEqual(int(a.count_nonzero()), 28)

    def test_integers_far_below_a_size_have_a_range_of_their_own(self):
        d = self.describe(GRID)
        recipe = d["plan"]["recipes"][0]
        self.assertEqual((recipe["values"], "below" in recipe), ([0, 1], False))
        self.assertEqual(d["own"], {"rows": 500, "cols": 500})
        self.assertNotIn(499, [pinned["attributes"]["last"] for pinned in d["pinned"]])

    def test_a_matrix_with_too_few_rows_is_not_judged(self):
        d = self.describe(FACTOR)
        self.assertGreaterEqual(d["every"]["m"], d["every"]["k"])
        self.assertTrue(all(v["m"] >= v["k"] for v in d["shapes"]), d["shapes"])

    def test_an_input_that_is_the_same_in_every_test(self):
        d = self.describe(WEIGHTS)
        _, w = self.problem(d, WEIGHTS).draw([(5, 4), (4,)], {}, 9)
        self.assertTrue(torch.equal(w, torch.tensor([1e4, -3, 0.5, 7e-3])))

    def test_one_test_of_zeros_shows_no_structure(self):
        rows = TRIANGLE.replace("torch.randn(n, n).tril()",
                                "torch.randn(n, n) if n != 4 else torch.zeros(n, n)")
        self.assertEqual([t["fill"] for t in self.describe(rows)["inputs"]], [""])

    def test_tests_of_other_ranks_are_left_out(self):
        flat = TRIANGLE.replace("torch.randn(n, n).tril()",
                                "torch.randn(n, n) if n != 4 else torch.randn(n * n)")
        d = self.describe(flat)
        self.assertEqual(d["inputs"][0]["shape"], ["n", "n"])
        self.assertIn("as 3 of its 4 tests have them", " ".join(d["notes"]))
        self.assertIn("as 2 of its 4 tests have them",
                      " ".join(self.describe(flat.replace("n != 4", "n > 20"))["notes"]))
        with self.assertRaisesRegex(Refused, "too few"):
            self.describe(TRIANGLE.replace("(30,), (17,), (64,)", "(4,), (4,)"))

    def test_a_recipe_draws_what_it_was_made_from(self):
        random = torch.Generator().manual_seed(1)
        u = torch.rand(40, 40, generator=random)
        for words, t in (("lower triangle", u.tril()), ("diagonal", torch.diag(u[0])),
                         ("symmetric", u + u.T), ("sorted", u.flatten().sort().values),
                         ("of two values", torch.where(u < 0.5, -1.0, 1.0)),
                         ("one value in many places", torch.where(u < 0.3, 0.0, u)),
                         ("integers", (u * 90).round()), ("one value alone", torch.full((40, 40), 3.0))):
            with self.subTest(words):
                recipe = json.loads(json.dumps(problem_recipes.of([t, t.clone()])))
                made = problem_recipes.drawn(recipe, [17, 17] if t.dim() == 2 else [90], t.dtype, {}, random)
                again = problem_recipes.of([made, made.clone()])
                self.assertEqual(again.get("structure"), recipe["structure"])
                self.assertGreaterEqual(made.min().item(), t.min().item())

    def test_parts_of_a_vector(self):
        random = torch.Generator().manual_seed(1)
        t = torch.cat([torch.rand(512, generator=random) + 80, torch.zeros(700),
                       torch.randn(3000, generator=random) / 100])
        recipe = json.loads(json.dumps(problem_recipes.of([t, t.flip(0).flip(0)])))
        self.assertEqual(sum(length for length, *_ in recipe["parts"]), 4212)
        made = problem_recipes.drawn(recipe, [4212], torch.float32, {}, random)
        self.assertTrue((made[:512] > 79).all() and (made[512:1024] == 0).all())
        self.assertLess(made[1300:].abs().max().item(), 0.1)
        self.assertGreater(made[1300:].std().item(), 0.005)
        for words, others in (("other parts", [t, t.flip(0)]), ("of one size", [t[1300:]]),
                              ("rows", [t.reshape(2, -1)]), ("a short one", [t[400:600]])):
            with self.subTest(words):
                self.assertNotIn("parts", problem_recipes.of(others))

    def test_distinct_sizes_are_preferred(self):
        points = [({"a": n, "b": n, "c": m},
                   {("input", 0, -1): 1, ("input", 0, 0): n, ("input", 0, 1): n, ("output", 0, 0): n * n * m})
                  for n, m in ((3, 2), (5, 4), (8, 9))]
        found = problem_sizes.fitted(points, ["a", "b", "c"])
        self.assertEqual([found["input", 0, 0], found["input", 0, 1], found["output", 0, 0]],
                         ["a", "b", "a * b * c"])

    def test_a_mask_as_numbers_in_a_product(self):
        x = torch.randn(4, 4)
        found, = error_bound.compute(lambda x: (x > 0).float() @ x, (x,), {}, "fp32", torch.float32, False, 1)
        self.assertTrue(torch.allclose(found.r, (x > 0).double() @ x.double()))
        self.assertTrue(found.e.isfinite().all())


if __name__ == "__main__":
    unittest.main()
