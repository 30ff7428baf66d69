"""Edges of swiglu's rows: what ragged sizes alone do not show."""

from __future__ import annotations

import unittest

import torch

from cases import BOUND, largest_error
from rows import Rows


class Swiglu(Rows):
    op = "swiglu"

    def test_strides(self):
        gate, up = torch.randn(8, 6).T, torch.randn(1, 8).expand(6, 8)
        y = self.forward("triton/block", [gate, up], [("y", torch.float32, (6, 8))])["y"]
        self.assertLessEqual(
            largest_error(y, torch.nn.functional.silu(gate.double()) * up.double()), BOUND[torch.float32]
        )


if __name__ == "__main__":
    unittest.main()
