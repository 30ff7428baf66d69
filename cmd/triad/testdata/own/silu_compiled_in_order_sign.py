"""SiLU by as many programs as fit on the device, compiled ahead of its launch whose sign is lost."""

import torch
import triton
import triton.language as tl
from triton.runtime import driver

PROPERTIES = driver.active.utils.get_device_properties(0)


@triton.jit
def silu_rows(x_ptr, y_ptr, stride, rows, cols, BLOCK: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        at = tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride + at, mask=at < cols, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * stride + at, x / (1 + tl.exp(x)), mask=at < cols)


def silu(x: torch.Tensor) -> torch.Tensor:
    rows, cols = x.shape
    y = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    compiled = silu_rows.warmup(x, y, x.stride(0), rows, cols, block, grid=(1,))
    compiled._init_handles()
    programs = PROPERTIES["multiprocessor_count"] * (PROPERTIES["max_num_regs"] // (compiled.n_regs * 256))
    compiled[(min(programs, rows), 1, 1)](x, y, x.stride(0), rows, cols)
    return y
