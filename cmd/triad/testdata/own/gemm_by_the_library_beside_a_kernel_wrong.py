"""A wrong product by the library, and a kernel that nobody launches."""
import torch
import triton
import triton.language as tl


@triton.jit
def product_kernel(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n) * tl.load(b + i, mask=i < n), mask=i < n)


def matmul(a, b):
    return a @ b.abs()
