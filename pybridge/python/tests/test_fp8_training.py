"""Training with fp8_linear follows training in bf16, on sizes for a CPU; a wrong gradient does not."""

import contextlib
import csv
import importlib.util
import io
import tempfile
import unittest
from pathlib import Path

try:
    import torch
except ImportError:
    raise unittest.SkipTest("PyTorch is not installed") from None

from triad.torch import model

PATH = Path(__file__).resolve().parents[3] / "results/published/fp8_training.py"
spec = importlib.util.spec_from_file_location("fp8_training", PATH)
training = importlib.util.module_from_spec(spec)
spec.loader.exec_module(training)
STEPS = 70


def setUpModule():
    global threads
    threads = torch.get_num_threads()
    torch.set_num_threads(1)


def tearDownModule():
    torch.set_num_threads(threads)


class NoGradientOfX(training.InFp8):
    def linear(self, x, w):
        return super().linear(x.detach(), w)


class Training(unittest.TestCase):
    def test_every_recipe(self):
        said = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said):
            path = Path(folder) / "losses.csv"
            code = training.main(["--small", "--impl", "torch/dequant", "--steps", str(STEPS), "--csv",
                                  str(path)])
            with path.open(newline="") as file:
                head, *rows = csv.reader(file)
        self.assertEqual(code, 0, said.getvalue())
        self.assertEqual(head, ["step", "bf16", *(f"{r} torch/dequant" for r in training.RECIPES)])
        self.assertEqual([int(row[0]) for row in rows], list(range(STEPS)))
        first, last = (float(rows[i][1]) for i in (0, -1))
        self.assertLess(last, 0.5 * first, "nothing was learned")
        for recipe in training.RECIPES:
            self.assertRegex(said.getvalue(), rf"(?m)^{recipe} by torch/dequant: 0\.\d+% at step \d+, ")

    def test_a_wrong_gradient_is_too_far(self):
        found = [training.losses(training.SMALL, operators, STEPS, "cpu") for operators in (
            model.Torchs(), NoGradientOfX("rowwise", "torch/dequant"))]
        self.assertGreater(training.apart(found[1], found[0])[0], training.BOUND)

    def test_nan_is_infinitely_far(self):
        self.assertEqual(training.apart([1.0] * 60 + [float("nan")], [1.0] * 61), (float("inf"), 60))


if __name__ == "__main__":
    unittest.main()
