# sum/triton: tl.sum, twice.
import torch
import triton
import triton.language as tl


@triton.jit
def block_sums(x_ptr, partial_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(partial_ptr + tl.program_id(0), tl.sum(x, axis=0))


@triton.jit
def total(partial_ptr, y_ptr, n, BLOCK: tl.constexpr):
    sums = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        sums += tl.load(partial_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr, tl.sum(sums, axis=0).to(y_ptr.dtype.element_ty))


# triad: sum(x=x)
def add_up(x):
    n = x.numel()
    programs = triton.cdiv(n, 128)
    partial = torch.empty(programs, dtype=torch.float32, device=x.device)
    y = torch.empty(1, dtype=x.dtype, device=x.device)
    block_sums[(programs,)](x, partial, n, BLOCK=128)
    total[(1,)](partial, y, programs, BLOCK=16)
    return y
