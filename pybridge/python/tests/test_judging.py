"""triad.judge: what travels of a function, and the example of an autotuner."""

import functools
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import torch

import triad
from triad import verbs
from triad.travelling import text_of_function

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "autotuner_check.py"
HALF = 0.5
SIZES = (2, 3)
GENERATOR = torch.Generator()


def helper(x, by=HALF):
    y = x * by
    return y


def travels(x):
    """Names a module, a function, constants, a dtype and a function of another module."""
    SIZES_HERE = len(SIZES)
    return helper(x).to(torch.float32) * SIZES_HERE * math.sqrt(4.0)


def capturing(factor):
    def inner(x):
        return x * factor
    return inner


def needs_a_generator(x):
    return torch.rand(3, generator=GENERATOR) + x


class TravellingTest(unittest.TestCase):
    def defined(self, function):
        text, name = text_of_function(function, "candidate")
        scope = {}
        exec(compile(text, "candidate.py", "exec"), scope)
        return scope[name]

    def test_what_it_names_travels(self):
        x = torch.arange(3.0)
        self.assertTrue(torch.equal(self.defined(travels)(x), travels(x)))

    def test_arguments_and_captured_numbers_travel(self):
        x = torch.arange(3.0)
        self.assertTrue(torch.equal(self.defined(functools.partial(helper, by=4.0))(x), 4 * x))
        self.assertTrue(torch.equal(self.defined(capturing(3))(x), 3 * x))

    def test_what_cannot_travel_is_named(self):
        for function, words in ((needs_a_generator, "GENERATOR, a Generator"), (lambda x: x, "lambda"),
                                (functools.partial(helper, by=torch.ones(1)), "argument")):
            with self.assertRaisesRegex(triad.UsageError, words):
                text_of_function(function, "candidate")


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return helper(x, by=2.0)

    @staticmethod
    def backward(ctx, grad):
        return helper(grad, by=2.0)


class AddedTest(unittest.TestCase):
    def test_functions_become_files(self):
        """A function or a class of this process is written into a file of its own, which is named with it."""
        with (tempfile.TemporaryDirectory() as caches,
              unittest.mock.patch.dict(os.environ, XDG_CACHE_HOME=caches)):
            files = verbs._files([travels, Twice, __file__])
            self.assertEqual(files[2], __file__)
            for file, name in zip(files, ("travels", "Twice"), strict=False):
                path, _, function = file.rpartition(":")
                self.assertEqual((Path(path).name, function), (f"{name}.py", name))
                scope = {}
                exec(compile(Path(path).read_text(), path, "exec"), scope)
                self.assertIn(name, scope)
            self.assertEqual(verbs._files(travels), files[:1])
        with self.assertRaisesRegex(triad.UsageError, "the function cannot be judged in another process"):
            verbs._files(lambda x: x)


class JudgeTest(unittest.TestCase):
    def test_words_that_are_wrong(self):
        for inputs, words in (([3], "input 3"), (["fp32"], "want DTYPE"), (None, "needs inputs")):
            with self.assertRaisesRegex(triad.UsageError, words):
                triad.judge(helper, helper, inputs)

    @unittest.skipUnless(shutil.which("bwrap"), "bubblewrap is not here")
    def test_the_autotuner(self):
        """The autotuner of the example takes a configuration that is right, and none that is not."""
        # The sandbox shows the environment that has torch, and none that borrows it.
        owner = Path(torch.__file__).parents[4] / "bin" / "python"
        env = {**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": "", "TRIAD_PYTHON": str(owner)}
        done = subprocess.run([sys.executable, EXAMPLE], env=env, capture_output=True, text=True, timeout=500)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = done.stdout.splitlines()
        self.assertTrue(said[0].startswith("64 FAIL: y[0,64] was never written"), said)
        self.assertEqual(said[1:3], ["128 PASS", "256 PASS"])
        self.assertEqual(said[3], "best: 128")


if __name__ == "__main__":
    unittest.main()
