import torch
import triton
import triton.language as tl


@triton.jit
def invert(image_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    colour = (at < n) & (at % 4 < 3)
    tl.store(image_ptr + at, 255 - tl.load(image_ptr + at, mask=colour), mask=colour)


def solve(image: torch.Tensor, width: int, height: int):
    n = width * height * 4
    invert[(triton.cdiv(n, 1024),)](image, n, BLOCK=1024)
