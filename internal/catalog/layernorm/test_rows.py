"""Edges of layernorm's rows: what ragged sizes alone do not show."""

from __future__ import annotations

import unittest

import torch

from rows import Rows


class Layernorm(Rows):
    op = "layernorm"

    def test_empty_rows_give_zero_sums(self):
        inputs = [torch.empty(0, 5), torch.ones(5), torch.empty(0), torch.empty(0), torch.empty(0, 5)]
        outputs = [
            ("grad_x", torch.float32, (0, 5)),
            ("grad_weight", torch.float32, (5,)),
            ("grad_bias", torch.float32, (5,)),
        ]
        got = self.worker.run(self.op, "triton/row", "backward", inputs, outputs, "a", eps=1e-5)[1][0]
        self.assertTrue(
            torch.equal(got["grad_weight"], torch.zeros(5)) and torch.equal(got["grad_bias"], torch.zeros(5))
        )


if __name__ == "__main__":
    unittest.main()
