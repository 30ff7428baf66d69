"""What DeepGEMM's fp8 products take (sgl-deep-gemm), shared by the rows `deepgemm/kernel`."""

from __future__ import annotations

from typing import Any

from implementation import capability

DEEPGEMM_TAKES = "scales of blocks, out bf16, n and k multiples of 16; a GPU of 9.0"


def declined(row: str, blocks: bool, out: str, a: Any, b: Any) -> str | None:
    """Why DeepGEMM does not take a [..., k] and b [..., n, k], both K-major, or None. row is named in the
    sentence; blocks says whether the scales are of blocks, out is the dtype of the result."""
    if not blocks or out != "bf16":
        return f"{row}: it takes scales of blocks and gives bf16"
    n, k = b.shape[-2:]
    if not a.numel() or not b.numel() or n % 16 or k % 16:
        return f"{row}: n {n} and k {k} are no multiples of 16, or a tensor is empty"
    if any(not x.is_contiguous() or x.data_ptr() % 16 for x in (a, b)):
        return f"{row}: an operand is not contiguous, or does not begin at 16 bytes"
    if any("e4m3" not in str(x.dtype) for x in (a, b)):
        return f"{row}: an operand is not e4m3"
    found = capability(a.device)
    return f"{row}: its products with fp32 scales are Hopper's" if found and found != (9, 0) else None
