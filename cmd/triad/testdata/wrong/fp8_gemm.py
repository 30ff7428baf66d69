"""Planted bugs in the fp8 product in Triton, scales of a tensor or of rows: triton/right is right, the others are it with one line changed."""

import torch

from implementation import Implementation, ceildiv, next_power_of_2, tl, triton

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


@triton.jit
def _kernel(a_ptr, scale_a_ptr, b_ptr, scale_b_ptr, c_ptr, m, n, k, ROW_SCALES: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
            BUG: tl.constexpr):
    """M rows of c, all columns."""
    row = (tl.program_id(0) * M + tl.arange(0, M)).to(tl.int64)
    col = tl.arange(0, N)
    i = tl.arange(0, K)
    inside = i < (k // 16 * 16 if BUG == "tail_of_k_missing" else k)
    a = tl.load(a_ptr + row[:, None] * k + i[None, :], mask=(row < m)[:, None] & inside[None, :], other=0.0).to(tl.float32)
    b = tl.load(b_ptr + col[:, None] * k + i[None, :], mask=(col < n)[:, None] & inside[None, :], other=0.0).to(tl.float32)
    c = tl.dot(a, tl.trans(b), input_precision="ieee")
    scale_a = tl.load(scale_a_ptr + (row if ROW_SCALES else row * 0), mask=row < m, other=1.0)
    scale_b = tl.load(scale_b_ptr + (col if ROW_SCALES and BUG != "scale_of_column_0" else col * 0), mask=col < n, other=0.0)
    if BUG == "scale_inverted":
        scale_a = 1 / scale_a
    c = c * scale_a[:, None] * scale_b[None, :]
    if BUG == "saturates":
        c = tl.minimum(tl.maximum(c, -448.0), 448.0)
    tl.store(c_ptr + row[:, None] * n + col[None, :], c.to(c_ptr.dtype.element_ty), mask=(row < m)[:, None] & (col < n)[None, :])


def row(bug: str) -> Implementation:
    def forward(a, scale_a, b, scale_b, *, scaling, out):
        (m, k), n = a.shape, b.shape[0]
        c = torch.empty((m, n), dtype=DTYPES[out], device=a.device)
        if c.numel():
            _kernel[(ceildiv(m, 32),)](a, scale_a, b, scale_b, c, m, n, k, ROW_SCALES=scaling == "row", M=32, N=max(16, next_power_of_2(n)),
                                       K=max(16, next_power_of_2(k)), BUG=bug)
        return c

    def accepts(direction, *tensors, scaling, out):
        if scaling == "block":
            return "scales of blocks are not taken"
        return None if all(t.is_contiguous() for t in tensors) else "an input is not contiguous"

    return Implementation(f"triton/{bug}", forward, outputs=("c",), contract="promoted", dtypes=("e4m3", "e5m2_e4m3", "e4m3_e5m2"), accepts=accepts)


IMPLEMENTATIONS = [row(bug) for bug in ("right", "tail_of_k_missing", "scale_of_column_0", "scale_inverted", "saturates")]
