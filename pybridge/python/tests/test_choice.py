"""Which implementation a call takes that names none: from timings that are planted in a database."""

import json
import os
import sqlite3
import sys
import tempfile
import unittest
from unittest import mock

import triad

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

from triad.torch import choice, implementations, operators, ops

GPU = "Some GPU"
CASES = {"impl": ["torch/eager", "cuda/naive", "cuda/block"], "dtype": "fp32", "distribution": "normal",
         "layout": "contiguous", "saved": "driver"}


def setUpModule():
    global data
    data = tempfile.TemporaryDirectory()
    os.environ["XDG_DATA_HOME"] = data.name
    os.environ["TRIAD_PYTHON"] = sys.executable
    for cols in (64, 100, 1000):
        found = triad.compare("softmax", dims={"rows": 8, "cols": cols}, **CASES)
        assert found.ok, str(found)


def tearDownModule():
    del os.environ["TRIAD_PYTHON"]
    data.cleanup()


def plant(times, gpu=GPU, regime="cold", status="PASS", verdict="PASS", alone=()):
    """Says that the runs were on a GPU, and how many ns each took: {(pass, implementation, cols): ns}.
    The backwards of the implementations alone were timed without the forward that they recompute."""
    db = sqlite3.connect(triad.database.default_database())
    with db:
        db.execute("delete from timing")
        db.execute("update machine set gpu = ?", [gpu])
        db.execute("update run set status = 'PASS'")
        for (direction, name, cols), ns in times.items():
            (run,) = db.execute("select run_id from run join test_case using (case_id) join implementation "
                                "using (implementation_id) "
                                "where pass = ? and name = ? and json_extract(dims_json, '$.cols') = ? order "
                                "by run_ulid limit 1", [direction, name, cols]).fetchone()
            db.execute("insert into timing (run_id, regime, n, median_ns, low_ns, high_ns, samples_ns_json, "
                       "rounds_json, arms_json, clocks_mhz_json, n_discarded, "
                       "discarded_because, status, backward) values (?, ?, 1, ?, ?, ?, ?, '[]', '[]', '[]', "
                       "0, '', ?, ?)",
                       [run, regime, ns, ns, ns, json.dumps([ns]), status,
                        "retained graph" if direction == "backward" and name in alone else ""])
            db.execute("update run set status = ? where run_id = ?", [verdict, run])
    db.close()
    choice._measured.cache_clear()
    operators._choices.clear()


class Fastest(unittest.TestCase):
    def chosen(self, cols=100, gradient=False, impl=None, gpu=GPU):
        """As on a GPU that is called so; the implementations are those that are here for a CPU."""
        found = ops.softmax._implementations
        rows = {name: found.named(name, torch.device("cpu"))
                for name in ("cuda/naive", "cuda/block", "torch/eager")}
        with mock.patch.object(implementations, "gpu", lambda device: gpu), \
                mock.patch.object(found.__class__, "on", lambda *_: rows):
            return ops.softmax.choose(impl, "cpu", "fp32", (("rows", 8), ("cols", cols)), gradient)

    def test_the_fastest_of_the_class(self):
        plant({("forward", "cuda/naive", 100): 900, ("forward", "cuda/block", 100): 500,
               ("forward", "torch/eager", 100): 700})
        self.assertEqual(self.chosen(), "cuda/block")
        self.assertEqual(self.chosen(cols=120), "cuda/block")  # up to a factor of two
        self.assertEqual(self.chosen(cols=500), "torch/eager")  # another class: the portable one
        plant({("forward", "cuda/naive", 100): 400, ("forward", "cuda/block", 100): 500})
        self.assertEqual(self.chosen(), "cuda/naive")

    def test_the_nearest_sizes(self):
        plant({("forward", "cuda/naive", 100): 300, ("forward", "cuda/block", 100): 500,
               ("forward", "cuda/naive", 64): 200, ("forward", "cuda/block", 64): 100})
        self.assertEqual((self.chosen(cols=66), self.chosen(cols=99)), ("cuda/block", "cuda/naive"))

    def test_with_a_gradient_both_passes_count(self):
        plant({("forward", "cuda/naive", 100): 400, ("backward", "cuda/naive", 100): 900,
               ("forward", "cuda/block", 100): 500, ("backward", "cuda/block", 100): 600})
        self.assertEqual((self.chosen(), self.chosen(gradient=True)), ("cuda/naive", "cuda/block"))

    def test_a_backward_that_was_timed_alone_runs_its_forward_again_here(self):
        times = {("forward", "torch/eager", 100): 100, ("backward", "torch/eager", 100): 100,
                 ("forward", "cuda/block", 100): 130, ("backward", "cuda/block", 100): 140}
        for alone, want in ((["torch/eager"], "cuda/block"), ([], "torch/eager")):
            plant(times, alone=alone)
            self.assertEqual(self.chosen(gradient=True), want)

    def test_a_family(self):
        plant({("forward", "cuda/naive", 100): 900, ("forward", "cuda/block", 100): 500,
               ("forward", "torch/eager", 100): 100})
        self.assertEqual((self.chosen(impl="cuda"), self.chosen()), ("cuda/block", "torch/eager"))

    def test_what_does_not_count(self):
        times = {("forward", "cuda/block", 100): 500}
        for what, options in {"another GPU": {"gpu": "Another GPU"}, "a wrong kernel": {"verdict": "FAIL"},
                              "an impossible time": {"status": "IMPOSSIBLE"},
                              "another regime": {"regime": "burst"}}.items():
            with self.subTest(what):
                plant(times, **options)
                self.assertEqual(self.chosen(), "torch/eager")
        plant(times)
        self.assertEqual((self.chosen(), self.chosen(gpu="")), ("cuda/block", "torch/eager"))

    def test_no_database(self):
        with mock.patch.dict(os.environ, {"XDG_DATA_HOME": data.name + "/none"}):
            choice._measured.cache_clear()
            self.assertEqual(self.chosen(), "torch/eager")


if __name__ == "__main__":
    unittest.main()
