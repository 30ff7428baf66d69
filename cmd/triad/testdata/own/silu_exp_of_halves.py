import torch
import triton
import triton.language as tl


@triton.jit
def silu_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, (x / (1 + tl.exp(-x))).to(y_ptr.dtype.element_ty), mask=i < n)


def silu(x: torch.Tensor):
    y = torch.empty(x.numel(), dtype=x.dtype, device=x.device)
    silu_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
