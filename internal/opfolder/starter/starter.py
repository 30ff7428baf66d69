"""OPERATOR: y = x * weight / sqrt(mean(x^2) + eps) over the last dimension

reference() is the truth. triad runs it in fp64, on exactly the inputs that a kernel gets, and
follows every operation to know how far fp32 arithmetic may move each element: write the formula
plainly, with torch's operations, in the dtype of the inputs. Gradients come from autograd of it.
"""

import torch

from implementation import differentiable_row


def reference(x, weight, *, eps):
    """x [rows, cols], weight [cols] -> y [rows, cols]."""
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def in_fp32(x, weight, *, eps):
    """The formula with every value inside fp32, rounded once at the end.

    In fp16 x * x would overflow.
    """
    return reference(x.float(), weight.float(), eps=eps).to(x.dtype).contiguous()


# Rows to judge beside the .cu: any functions of the same signature, among them wrappers around
# Triton kernels (then with `from implementation import Implementation, tl, triton`). This one has
# 2 inputs, of which 0 and 1 are differentiable, and autograd as its backward.
IMPLEMENTATIONS = [
    differentiable_row("torch/fp32", in_fp32, 2, (0, 1), ("y",), ("grad_x", "grad_weight")),
]
