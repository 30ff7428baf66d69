"""Edges of rope's rows: what ragged sizes alone do not show."""

from __future__ import annotations

import unittest

import torch

from rows import Rows


class Rope(Rows):
    op = "rope"

    def test_position_0_is_the_identity_under_strides(self):
        q, k, one, zero = (
            torch.randn(2, 3, 4, 8).transpose(2, 3),
            torch.randn(2, 3, 1, 4),
            torch.ones(5, 2),
            torch.zeros(5, 2),
        )
        got = self.forward(
            "triton/block",
            [q, k, one, zero],
            [("q_out", torch.float32, (2, 3, 8, 4)), ("k_out", torch.float32, (2, 3, 1, 4))],
            interleaved=True,
            offset=1,
        )
        self.assertTrue(
            torch.equal(got["q_out"], q) and torch.equal(got["k_out"], k), "position 0 is the identity"
        )


if __name__ == "__main__":
    unittest.main()
