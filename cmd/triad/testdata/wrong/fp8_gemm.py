"""Planted bugs in the fp8 product in Triton, scales of a tensor or of rows: triton/right is right, the others are it with one line changed."""

import torch

from implementation import Implementation, next_power_of_2, tl, triton

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


@triton.jit
def _kernel(a_ptr, scale_a_ptr, b_ptr, scale_b_ptr, c_ptr, n, k, ROW_SCALES: tl.constexpr, N: tl.constexpr, K: tl.constexpr, BUG: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, N)[:, None]
    i = tl.arange(0, K)[None, :]
    inside = i < (k // 16 * 16 if BUG == "tail_of_k_missing" else k)
    a = tl.load(a_ptr + row * k + i, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + col * k + i, mask=inside & (col < n), other=0.0).to(tl.float32)
    c = tl.sum(a * b, axis=1)
    c_col = tl.arange(0, N)
    scale_a = tl.load(scale_a_ptr + (row if ROW_SCALES else 0))
    scale_b = tl.load(scale_b_ptr + (c_col if ROW_SCALES and BUG != "scale_of_column_0" else c_col * 0), mask=c_col < n, other=0.0)
    if BUG == "scale_inverted":
        scale_a = 1 / scale_a
    c = c * scale_a * scale_b
    if BUG == "saturates":
        c = tl.minimum(tl.maximum(c, -448.0), 448.0)
    tl.store(c_ptr + row * n + c_col, c.to(c_ptr.dtype.element_ty), mask=c_col < n)


def row(bug: str) -> Implementation:
    def forward(a, scale_a, b, scale_b, *, scaling, out):
        c = torch.empty((a.shape[0], b.shape[0]), dtype=DTYPES[out], device=a.device)
        if c.numel():
            n, k = b.shape
            _kernel[(a.shape[0],)](a, scale_a, b, scale_b, c, n, k, ROW_SCALES=scaling == "row", N=next_power_of_2(n), K=next_power_of_2(k), BUG=bug)
        return c

    def accepts(direction, *tensors, scaling, out):
        if scaling == "block":
            return "scales of blocks are not taken"
        return None if all(t.is_contiguous() for t in tensors) else "an input is not contiguous"

    return Implementation(f"triton/{bug}", forward, outputs=("c",), contract="promoted", dtypes=("e4m3", "e5m2_e4m3", "e4m3_e5m2"), accepts=accepts)


IMPLEMENTATIONS = [row(bug) for bug in ("right", "tail_of_k_missing", "scale_of_column_0", "scale_inverted", "saturates")]
