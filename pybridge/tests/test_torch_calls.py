"""Which operations of torch a call reaches: those of autograd among them, and none that it does not call."""

from __future__ import annotations

import os
import unittest

os.environ["TRITON_INTERPRET"] = "1"

import torch
import triton
import triton.language as tl

import client  # noqa: F401  (puts the worker's folder on the path)

from torch_calls import RecordedCalls


@triton.jit
def doubled(x, y):
    at = tl.arange(0, 4)
    tl.store(y + at, 2 * tl.load(x + at, mask=at < 3), mask=at < 3)


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

    def test_kernels_of_triton(self):
        """A kernel in the interpreter is named, and what the interpreter itself does is not."""
        x, y = torch.ones(3), torch.empty(3)
        with RecordedCalls() as recorded:
            doubled[(1,)](x, y)
            torch.mm(torch.ones(2, 2), torch.ones(2, 2))
        self.assertTrue(torch.equal(y, 2 * x))
        self.assertEqual(recorded.names, {"triton doubled", "aten.ones", "aten.mm"})

    def test_a_backward_of_its_own(self):
        self.assertIn("aten.gelu", reached(Half.apply, True))
        self.assertNotIn("aten.gelu_backward", reached(Half.apply, True))


if __name__ == "__main__":
    unittest.main()
