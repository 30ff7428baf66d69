import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at, tl.where(x < 0.0, 0.0, x), mask=at < n)


def relu_inplace(x: torch.Tensor) -> torch.Tensor:
    """Changes x itself, and gives it back."""
    n = x.numel()
    relu_kernel[(triton.cdiv(n, 1024),)](x, n, BLOCK=1024)
    return x
