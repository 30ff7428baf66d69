import torch
import triton
import triton.language as tl


@triton.jit
def swap_kernel(values, N, BLOCK: tl.constexpr):
    left = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = left < N // 2
    a = tl.load(values + left, mask)
    b = tl.load(values + N - 1 - left, mask)
    tl.store(values + left, b, mask)
    tl.store(values + N - 1 - left, a, mask)


def solve(input: torch.Tensor, N: int):
    if N < 2:
        return
    swap_kernel[(triton.cdiv(N // 2, 256),)](input, N, 256)
