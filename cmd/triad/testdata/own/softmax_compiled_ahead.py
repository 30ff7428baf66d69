"""As many programs as fit on the GPU, for which the kernel is compiled ahead and asked what it needs."""
import torch
import triton
import triton.language as tl
from triton.runtime import driver

properties = driver.active.utils.get_device_properties(torch.cuda.current_device())


@triton.jit
def of_rows(to, of, rows, cols, TILE: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        at = tl.arange(0, TILE)
        x = tl.load(of + row * cols + at, mask=at < cols, other=-float("inf")).to(tl.float32)
        e = tl.exp(x - tl.max(x, axis=0))
        tl.store(to + row * cols + at, e / tl.sum(e, axis=0), mask=at < cols)


def softmax(x):
    rows, cols = x.shape
    y = torch.empty_like(x)
    ready = of_rows.warmup(y, x, rows, cols, TILE=triton.next_power_of_2(cols), num_warps=8, grid=(1,))
    ready._init_handles()
    at_once = properties["max_num_regs"] // (ready.n_regs * properties["warpSize"] * 8)
    at_once = min(at_once, properties["max_shared_mem"] // ready.metadata.shared)
    programs = min(properties["multiprocessor_count"] * at_once, rows)
    ready[(programs, 1, 1)](y, x, rows, cols)
    return y
