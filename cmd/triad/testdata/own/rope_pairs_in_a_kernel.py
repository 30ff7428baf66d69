"""Rotates elements that lie beside each other: 0 with 1, 2 with 3."""

import torch
import triton
import triton.language as tl


@triton.jit
def rotate(x_ptr, cos_ptr, sin_ptr, y_ptr, seq_len, dim, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < dim // 2
    first = row * dim + at * 2
    angle = (row % seq_len) * (dim // 2) + at
    c = tl.load(cos_ptr + angle, mask=inside, other=1.0).to(tl.float32)
    s = tl.load(sin_ptr + angle, mask=inside, other=0.0).to(tl.float32)
    a = tl.load(x_ptr + first, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + first + 1, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + first, a * c - b * s, mask=inside)
    tl.store(y_ptr + first + 1, a * s + b * c, mask=inside)


def rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    batch, heads, seq_len, dim = x.shape
    y = torch.empty_like(x)
    rotate[(batch * heads * seq_len,)](x, cos, sin, y, seq_len, dim, BLOCK=triton.next_power_of_2(dim // 2))
    return y
