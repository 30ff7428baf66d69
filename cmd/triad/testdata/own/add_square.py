"""Sums of two square matrices: N is one side."""
import torch
import triton
import triton.language as tl


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(c + at, tl.load(a + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


def solve(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, N: int):
    n = N * N
    add[(triton.cdiv(n, 256),)](a, b, c, n, BLOCK=256)
