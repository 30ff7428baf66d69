"""What functions of a user's file return, put into the outputs of an operator."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import sys
import unittest
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import returned  # noqa: E402

CPU = torch.device("cpu")
Q = ("q", (4, 3), (4, 3), False, torch.int8)
SCALE = ("scale", (4,), (4,), False, torch.float32)


class Returned(unittest.TestCase):
    def setUp(self):
        returned._orders.clear()
        returned._said.clear()

    def fitted(self, value, *wanted, function="mine", places=(), is_forward=True):
        with contextlib.redirect_stderr(io.StringIO()) as self.said:
            return returned.fitted(returned.given(value, function), function, wanted, places, CPU, is_forward)

    def test_sizes_of_1_are_left_out_and_put_in(self):
        self.assertEqual(self.fitted(torch.ones(4, 1), SCALE).shape, (4,))
        self.assertIn("scale has sizes of 1", self.said.getvalue())
        column = ("y", (4, 1), (4, 1), False, torch.float32)
        self.assertEqual(self.fitted(torch.ones(4), column).shape, (4, 1))
        self.assertEqual(self.fitted(torch.ones(4, 2), SCALE).shape, (4, 2))
        self.assertEqual(self.fitted(torch.ones(3, 4), ("y", (4, 3), (4, 3), False, torch.float32)).shape,
                         (3, 4))

    def test_outputs_are_told_by_their_numbers(self):
        q, scale = torch.ones(4, 3, dtype=torch.int8), torch.ones(4)
        for value in ((q, scale), (scale, q), {"s": scale, "q": q}):
            got = self.fitted(value, Q, SCALE)
            self.assertIs(got[0].dtype, torch.int8, value)
            self.assertIs(got[1].dtype, torch.float32, value)
        pair = dataclasses.make_dataclass("Pair", ["q", "scale"])
        self.assertEqual(self.fitted(pair(q, scale), Q, SCALE)[1].shape, (4,))

    def test_two_of_a_kind_stay_in_their_order(self):
        first, second = ((name, shape, shape, False, torch.float32)
                         for name, shape in (("a", (2, 3)), ("b", (3, 4))))
        got = self.fitted((torch.ones(3, 4), torch.ones(2, 3)), first, second)
        self.assertEqual([tuple(t.shape) for t in got], [(3, 4), (2, 3)])

    def test_a_backward_keeps_its_order(self):
        got = self.fitted((torch.ones(4), torch.ones(4, 3, dtype=torch.int8)), Q, SCALE, is_forward=False)
        self.assertIs(got[0].dtype, torch.float32)

    def test_what_else_is_returned_is_left_out(self):
        y = ("y", (4, 3), (4, 3), False, torch.float32)
        got = self.fitted((torch.zeros(4, 1), torch.ones(4, 3)), y)
        self.assertEqual(got.sum(), 12)
        self.assertIn("2: y", self.said.getvalue())

    def test_sizes_that_are_alike_are_no_answer(self):
        y = ("y", (4, 1), (4, 1), False, torch.float32)
        with self.assertRaises(returned.ReturnedOtherwise):
            self.fitted((torch.zeros(4, 1), torch.ones(4, 1)), y)
        self.fitted((torch.zeros(4, 1), torch.ones(4, 3)), ("y", (4, 3), (4, 3), False, torch.float32))
        self.assertEqual(self.fitted((torch.zeros(4, 1), torch.ones(4, 1)), y).sum(), 4)

    def test_too_few_are_no_answer(self):
        with self.assertRaisesRegex(returned.ReturnedOtherwise, "1 of the 2 outputs"):
            self.fitted(torch.ones(4, 3, dtype=torch.int8), Q, SCALE)

    def test_whole_numbers_are_converted_where_they_fit(self):
        wanted = ("indices", (2,), (2,), False, torch.int32)
        self.assertIs(self.fitted(torch.tensor([5, 7]), wanted).dtype, torch.int32)
        self.assertIs(self.fitted(torch.tensor([5, 1 << 40]), wanted).dtype, torch.int64)
        self.assertIs(self.fitted(torch.tensor([5.0, 7.0]), wanted).dtype, torch.float32)

    def test_a_number_is_a_tensor_of_one(self):
        self.assertEqual(self.fitted(2.5, ("y", (1,), (1,), False, torch.float32)).tolist(), [2.5])
        self.assertEqual(self.fitted(2.5, ("n", (1,), (1,), False, torch.int64)), 2.5)
        self.assertEqual(self.fitted(2.5, SCALE), 2.5)

    def test_names_say_the_order(self):
        a, b = torch.zeros(4), torch.ones(4)
        got = self.fitted((a, b), SCALE, ("other", (4,), (4,), False, torch.float32), places=(1, 0))
        self.assertEqual(got[0].sum(), 4)


if __name__ == "__main__":
    unittest.main()
