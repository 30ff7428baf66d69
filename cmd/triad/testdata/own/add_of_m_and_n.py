"""A sum of matrices, of M rows and N columns, with and without tiles of both."""
import torch
import triton
import triton.language as tl


@triton.jit
def flat_kernel(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)


def solve(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, M: int, N: int):
    n = M * N
    flat_kernel[(triton.cdiv(n, 1024),)](a, b, c, n, 1024)
