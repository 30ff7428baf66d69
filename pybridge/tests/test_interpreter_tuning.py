"""Triton's autotune in the interpreter: which configuration is taken, and what trying it leaves behind."""

from __future__ import annotations

import os
import unittest

os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported

import torch  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

import client  # noqa: E402, F401  (puts pybridge on sys.path)

import implementation  # noqa: E402
import interpreter  # noqa: E402


def kernel(configs: list[triton.Config], **more):
    """A kernel that adds BLOCK to y, and takes no block of 3 where n is odd."""
    return triton.autotune(configs=configs, key=["n"], **more)(_add_block)


@triton.jit
def _add_block(y_ptr, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK != 3 or n % 2 == 0)
    tl.store(y_ptr, tl.load(y_ptr) + BLOCK)


BLOCKS = [triton.Config({"BLOCK": 1}, num_warps=8), triton.Config({"BLOCK": 1}, num_warps=4),
          triton.Config({"BLOCK": 3}), triton.Config({"BLOCK": 5})]


class Tuning(unittest.TestCase):
    def setUp(self):
        interpreter.correct()
        self.addCleanup(setattr, implementation, "CONFIGURATION", 0)

    def added(self, tuned, n: int, asked: int = 0) -> float:
        implementation.CONFIGURATION = asked
        implementation.CONFIGURATIONS.clear()
        y = torch.zeros(1)
        tuned[(1,)](y, n)
        return y.item()

    def test_the_first_call_of_a_size_tries_what_it_takes(self):
        tuned = kernel(BLOCKS)
        for asked, block in ((0, 1), (1, 3), (2, 5), (3, 1)):
            with self.subTest(asked):
                calls = [self.added(tuned, n, asked) for n in (4, 4, 8, 4)]
                self.assertEqual(calls, [2.0 * block, block, 2.0 * block, block])
        self.assertEqual(self.added(tuned, 4, 1), 3.0, "it is kept for each configuration")
        self.assertEqual(self.added(kernel(BLOCKS, reset_to_zero=["y_ptr"]), 4), 1.0)
        self.assertEqual(self.added(kernel(BLOCKS, restore_value=["y_ptr"]), 4), 1.0)

    def test_it_says_which_configurations_differ(self):
        tuned = kernel(BLOCKS)
        for n in (4, 4):
            self.added(tuned, n)
            self.assertEqual(implementation.CONFIGURATIONS, ["BLOCK=1", "BLOCK=3", "BLOCK=5"])
        self.added(kernel(BLOCKS[:2]), 4)
        self.assertEqual(implementation.CONFIGURATIONS, [])
        last_two = {"early_config_prune": lambda configs, *_, **__: configs[2:]}
        pruned = kernel(BLOCKS, prune_configs_by=last_two)
        self.assertEqual(self.added(pruned, 4, 1), 10.0)
        self.assertEqual(implementation.CONFIGURATIONS, ["BLOCK=3", "BLOCK=5"])

    def test_one_that_does_not_compile_is_not_taken(self):
        self.assertEqual(self.added(kernel(BLOCKS), 5, 1), 10.0)
        self.assertEqual(self.added(kernel([BLOCKS[2], BLOCKS[3]]), 5), 10.0)
        self.assertEqual(self.added(kernel([BLOCKS[0], BLOCKS[2]]), 5, 1), 1.0)
        with self.assertRaisesRegex(Exception, "AssertionError"):
            self.added(kernel([BLOCKS[2]]), 5)


if __name__ == "__main__":
    unittest.main()
