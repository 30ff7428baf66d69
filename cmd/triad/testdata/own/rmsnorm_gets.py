"""The function that launches is called like one that stands beside."""

import torch
import triton
import triton.language as tl


@triton.jit
def scale_rows(x_ptr, w_ptr, y_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + at, mask=at < cols, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x) / cols + eps)
    tl.store(y_ptr + row * cols + at, x * scale * w, mask=at < cols)


def get_rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    rows, cols = x.shape
    y = torch.empty_like(x)
    scale_rows[(rows,)](x, weight, y, cols, eps, BLOCK=triton.next_power_of_2(cols))
    return y
