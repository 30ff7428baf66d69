"""One tensor of one head, and tables as wide as it."""
import torch
import triton
import triton.language as tl


@triton.jit
def turn(q, cos, sin, out, rows, width, TILE: tl.constexpr):
    at = tl.arange(0, TILE)
    there = (at + width // 2) % width
    inside = at < width
    here = tl.program_id(0) * width + at
    x = tl.load(q + here, mask=inside)
    other = tl.load(q + tl.program_id(0) * width + there, mask=inside)
    other = tl.where(at < width // 2, -other, other)
    c = tl.load(cos + here, mask=inside)
    s = tl.load(sin + here, mask=inside)
    tl.store(out + here, x * c + other * s, mask=inside)


def solve(Q: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, output: torch.Tensor, M: int, D: int):
    turn[(M,)](Q, cos, sin, output, M, D, TILE=triton.next_power_of_2(D))
