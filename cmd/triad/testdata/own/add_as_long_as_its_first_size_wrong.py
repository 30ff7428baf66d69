import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x, y, z, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n)
    tl.store(z + at, total, mask=at < n)


def vector_add(x, y, out):
    n = x.shape[0]
    add_kernel[(n // 256,)](x, y, out, n, BLOCK=256)
