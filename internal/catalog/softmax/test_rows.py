"""Edges of softmax's rows: what ragged sizes alone do not show."""

from __future__ import annotations

import unittest

import torch

from cases import BOUND, largest_error
from rows import Rows


class Softmax(Rows):
    op = "softmax"

    def test_a_softmax_row_without_a_finite_maximum_is_nan(self):
        x = torch.zeros(4, 5)
        x[0], x[1, 2], x[2, 3], x[3, 1:] = -torch.inf, torch.inf, torch.nan, -torch.inf
        for name in ("triton/row", "triton/online", "torch/eager"):
            with self.subTest(name):
                y = self.forward(name, [x], [("y", torch.float32, (4, 5))])["y"]
                self.assertTrue(y[:3].isnan().all() and torch.equal(y[3], torch.tensor([1.0, 0, 0, 0, 0])), y)

    def test_online_softmax_takes_a_maximum_in_the_last_block_after_a_masked_one(self):
        x = torch.full((2, 5000), -torch.inf)
        x[0, 4999], x[1, 3], x[1, 4500] = 3.0, 1.0, 90.0
        y = self.forward("triton/online", [x], [("y", torch.float32, (2, 5000))])["y"]
        self.assertLessEqual(largest_error(y, torch.softmax(x.double(), -1)), BOUND[torch.float32])
        self.assertTrue((y[x == -torch.inf] == 0).all())

    def test_layouts(self):
        base = torch.randn(6, 8).to(torch.bfloat16)
        layouts = {
            "offset": torch.cat((torch.zeros(1, dtype=torch.bfloat16), base.flatten()))[1:].view(6, 8),
            "sliced": base[:, :7],
            "transposed": base.T.contiguous().T,
            "expanded": base[:1].expand(6, 8),
        }
        for layout, x in layouts.items():
            for name in ("triton/row", "triton/online", "torch/eager"):
                with self.subTest(name, layout=layout):
                    y = self.forward(name, [x], [("y", torch.bfloat16, tuple(x.shape))])["y"]
                    self.assertLessEqual(
                        largest_error(y, torch.softmax(x.double(), -1)), BOUND[torch.bfloat16]
                    )


if __name__ == "__main__":
    unittest.main()
