"""What functions of a user's file return, put into the outputs of an operator."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import sys
import unittest
import unittest.mock
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "worker"))
import bridge_folders  # noqa: E402, F401

import returned_values  # noqa: E402

CPU = torch.device("cpu")
Q = ("q", (4, 3), (4, 3), False, torch.int8)
SCALE = ("scale", (4,), (4,), False, torch.float32)


class Returned(unittest.TestCase):
    def setUp(self):
        returned_values._orders.clear()
        returned_values._said.clear()

    def fitted(self, value, *wanted, function="mine", places=(), is_forward=True):
        with contextlib.redirect_stderr(io.StringIO()) as self.said:
            with returned_values.judged() as self.own:
                return returned_values.fitted(returned_values.given(value, function), function, wanted,
                                              places, CPU, is_forward)

    def test_sizes_of_1_are_left_out_and_put_in(self):
        self.assertEqual(self.fitted(torch.ones(4, 1), SCALE).shape, (4,))
        self.assertIn("scale has sizes of 1", self.said.getvalue())
        column = ("y", (4, 1), (4, 1), False, torch.float32)
        self.assertEqual(self.fitted(torch.ones(4), column).shape, (4, 1))
        self.assertEqual(self.fitted(torch.ones(4, 2), SCALE).shape, (4, 2))
        self.assertEqual(self.fitted(torch.ones(3, 4), ("y", (4, 3), (4, 3), False, torch.float32)).shape,
                         (3, 4))

    def test_a_result_besides_the_outputs_is_reported(self):
        out = torch.zeros(4)
        for dropped, told in ((None, False), (out, False), (out + 1, True)):
            with contextlib.redirect_stderr(io.StringIO()) as said, returned_values.judged():
                self.assertIs(returned_values.given((out), "solve", dropped), out)
            self.assertEqual("solve " + returned_values.DROPPED in said.getvalue(), told, dropped)

    def test_fp32_is_rounded_to_16_bits(self):
        half = ("y", (4,), (4,), False, torch.float16)
        value = torch.tensor([1.0, 1.0004, 1e6, float("nan")])
        got = self.fitted(value, half)
        self.assertTrue(torch.equal(got.nan_to_num(7), value.to(torch.float16).nan_to_num(7)))
        self.assertIn("y is float32, rounded to float16", self.said.getvalue())
        kept = returned_values.fitted(value, "mine", (half,), (), CPU, True, True)
        self.assertIs(kept.dtype, torch.float32)
        self.assertIs(self.fitted(value, SCALE).dtype, torch.float32)

    def test_integers_besides_are_judged(self):
        values, indices = torch.ones(4, 3), torch.ones(4, 3, dtype=torch.int64)
        wanted = ("values", (4, 3), (4, 3), False, torch.float32)
        perhaps = ("indices", (4, 3), (4, 3), False, torch.int32)
        for value, given in (((values, indices), True), ((indices, values), True), (values, False),
                             ((values, indices, indices), False),
                             ((values, indices[0]), False), ((values, indices.bool()), False)):
            returned_values._orders.clear()
            with contextlib.redirect_stderr(io.StringIO()), returned_values.judged():
                got = returned_values.fitted(value, "mine", (wanted,), (), CPU, True, perhaps=(perhaps,))
            self.assertTrue(torch.equal(got[0], values))
            self.assertEqual(None if got[1] is None else got[1].dtype, torch.int32 if given else None, value)

    def test_a_value_that_no_line_names_may_have_another_shape(self):
        wanted = ("loss", (4,), (4,), False, torch.float32)
        none = "reduction=none"
        for value, unspoken, refused in ((torch.ones(()), none, True), (torch.ones(()), "", False),
                                         (torch.ones(4), none, False)):
            refuses = self.assertRaisesRegex(returned_values.ReturnedOtherwise, "with reduction=none mine")
            with refuses if refused else contextlib.nullcontext():
                returned_values.fitted(returned_values.given(value, "mine"), "mine", (wanted,), (), CPU, True,
                                       unspoken=unspoken)

    def test_outputs_are_distinguished_by_their_numbers(self):
        q, scale = torch.ones(4, 3, dtype=torch.int8), torch.ones(4)
        for value in ((q, scale), (scale, q), {"s": scale, "q": q}):
            returned_values._orders.clear()
            got = self.fitted(value, Q, SCALE)
            self.assertIs(got[0].dtype, torch.int8, value)
            self.assertIs(got[1].dtype, torch.float32, value)
        pair = dataclasses.make_dataclass("Pair", ["q", "scale"])
        self.assertEqual(self.fitted(pair(q, scale), Q, SCALE, function="other")[1].shape, (4,))

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
        with self.assertRaises(returned_values.ReturnedOtherwise):
            self.fitted((torch.zeros(4, 1), torch.ones(4, 1)), y)
        self.fitted((torch.zeros(4, 1), torch.ones(4, 3)), ("y", (4, 3), (4, 3), False, torch.float32))
        self.assertEqual(self.fitted((torch.zeros(4, 1), torch.ones(4, 1)), y).sum(), 4)

    def test_too_few_are_no_answer(self):
        with self.assertRaisesRegex(returned_values.ReturnedOtherwise, "1 of the 2 outputs"):
            self.fitted(torch.ones(4, 3, dtype=torch.int8), Q, SCALE)

    def test_indices_alone_are_no_answer(self):
        values = ("values", (2,), (2,), False, torch.float16)
        with self.assertRaisesRegex(returned_values.ReturnedOtherwise,
                                    r"integers \(int64\), and values"):
            self.fitted(torch.tensor([5, 7]), values)
        backward = self.fitted(torch.tensor([5, 7]), values, is_forward=False)
        self.assertIs(backward.dtype, torch.int64)

    def test_integers_are_converted_where_they_fit(self):
        wanted = ("indices", (2,), (2,), False, torch.int32)
        self.assertIs(self.fitted(torch.tensor([5, 7]), wanted).dtype, torch.int32)
        self.assertIs(self.fitted(torch.tensor([5, 1 << 40]), wanted).dtype, torch.int64)
        self.assertIs(self.fitted(torch.tensor([5.0, 7.0]), wanted).dtype, torch.float32)
        signed = ("q", (2,), (2,), False, torch.int8)
        self.assertIs(self.fitted(torch.tensor([200, 255], dtype=torch.uint8), signed).dtype, torch.uint8)
        self.assertEqual(self.fitted(torch.tensor([2, 5], dtype=torch.uint8), signed).tolist(), [2, 5])

    def test_a_number_is_a_tensor_of_one(self):
        self.assertEqual(self.fitted(2.5, ("y", (1,), (1,), False, torch.float32)).tolist(), [2.5])
        self.assertIn("y is a number, made a tensor", self.said.getvalue())
        self.assertEqual(self.fitted(2.5, ("n", (1,), (1,), False, torch.int64)), 2.5)
        self.assertEqual(self.fitted(2.5, SCALE), 2.5)

    def test_names_say_the_order(self):
        a, b = torch.zeros(4), torch.ones(4)
        got = self.fitted((a, b), SCALE, ("other", (4,), (4,), False, torch.float32), places=(1, 0))
        self.assertEqual(got[0].sum(), 4)
        self.assertIn("mine returns its outputs as its values 2: scale, 1: other", self.said.getvalue())

    def test_names_of_other_values_say_no_order(self):
        q, scale = torch.ones(4, 3, dtype=torch.int8), torch.ones(4)
        self.assertIs(self.fitted((q, scale), Q, SCALE, places=(1, 0))[0].dtype, torch.int8)
        wrong = self.fitted((torch.ones(2), q), Q, SCALE, function="wrong", places=(1, 0))
        self.assertEqual([tuple(t.shape) for t in wrong], [(4, 3), (2,)])

    def test_an_order_stays(self):
        q, scale = torch.ones(4, 3, dtype=torch.int8), torch.ones(4)
        for first, second, places in (((q, scale), (scale, q), ()), ((scale, q), (q, scale), ()),
                                      ((q, scale), (scale, q), (0, 1)),
                                      ((scale, scale[:2], q), (q, scale, scale[:2]), ())):
            self.setUp()
            self.fitted(first, Q, SCALE, places=places)
            got = self.fitted(second, Q, SCALE, places=places)
            self.assertIn("in another order", self.said.getvalue())
            self.assertIs(got[0].dtype, torch.float32)

    def test_many_values_are_not_tried(self):
        rows = [torch.ones(4) for _ in range(returned_values.MOST_VALUES)]
        got = self.fitted((*rows, torch.ones(4, 3, dtype=torch.int8)), Q, SCALE)
        self.assertIs(got[0].dtype, torch.float32)

    def test_a_backward_that_returns_an_empty_tuple(self):
        self.assertEqual(self.fitted((), Q, is_forward=False), ())
        self.assertEqual(returned_values.scaled((), 2.0, None, None), ())

    def test_what_was_returned_itself_is_reported(self):
        wanted = ("indices", (3, 2), (3, 2), False, torch.int32)
        buffer = torch.zeros(2, 3, dtype=torch.int64)
        got = self.fitted(buffer.t(), wanted)
        self.assertIs(got.dtype, torch.int32)
        self.assertEqual(self.own["indices"].data_ptr(), buffer.data_ptr())
        self.assertIn("the conversion is timed", self.said.getvalue())

    def test_nothing_is_looked_at_where_it_is_timed(self):
        wanted = ("indices", (2,), (2,), False, torch.int32)
        with (unittest.mock.patch.object(torch, "equal", side_effect=AssertionError),
              contextlib.redirect_stderr(io.StringIO())):
            got = returned_values.fitted(torch.tensor([5, 7]), "mine", (wanted,), (), CPU, True)
        self.assertIs(got.dtype, torch.int32)
        self.assertEqual(returned_values._copies, [])


if __name__ == "__main__":
    unittest.main()
