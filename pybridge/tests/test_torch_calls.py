"""Which operations of torch a call reaches: those of autograd among them, and none that it does not call."""

from __future__ import annotations

import unittest

import torch

import client  # noqa: F401  (puts the worker's folder on the path)

from torch_calls import RecordedCalls


class Half(torch.autograd.Function):
    """GELU with a backward of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.nn.functional.gelu(x)

    @staticmethod
    def backward(ctx, grad):
        return grad * torch.sigmoid(ctx.saved_tensors[0])


def reached(function, backward: bool) -> set[str]:
    """What a call reaches, and the way back through it."""
    x = torch.ones(3, requires_grad=True)
    with RecordedCalls() as recorded:
        y = function(x)
        if backward:
            y.sum().backward()
    return recorded.names


class RecordedCallsTest(unittest.TestCase):
    def test_an_operation_by_any_name(self):
        for function in (torch.nn.functional.gelu, torch.nn.GELU()):
            self.assertIn("aten.gelu", reached(function, False))
        self.assertNotIn("aten.gelu", reached(lambda x: x * torch.sigmoid(1.702 * x), False))

    def test_the_way_back(self):
        self.assertIn("aten.gelu_backward", reached(torch.nn.functional.gelu, True))
        self.assertNotIn("aten.gelu_backward", reached(torch.nn.functional.gelu, False))

    def test_a_backward_of_its_own(self):
        self.assertIn("aten.gelu", reached(Half.apply, True))
        self.assertNotIn("aten.gelu_backward", reached(Half.apply, True))


if __name__ == "__main__":
    unittest.main()
