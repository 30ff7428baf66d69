"""Planted bugs in rotary embeddings in Triton: triton/right is right, the others are it with one line changed."""

import torch

from implementation import Implementation, ceildiv, next_power_of_2, tl, triton


@triton.jit
def _kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, n, seq, heads, half, offset, INTERLEAVED: tl.constexpr, ROWS: tl.constexpr, PAIRS: tl.constexpr,
            BUG: tl.constexpr):
    """ROWS of the n = batch * seq * heads vectors."""
    vector = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    i = tl.arange(0, PAIRS)[None, :]
    inside = (vector < n) & (i < (half - 1 if BUG == "last_pair_missing" else half))
    first = 2 * i if INTERLEAVED else i
    second = 2 * i + 1 if INTERLEAVED else i + half
    position = offset + (vector if BUG == "head_for_token" else vector // heads) % seq
    cos = tl.load(cos_ptr + position * half + i, mask=inside, other=1.0)
    sin = tl.load(sin_ptr + position * half + i, mask=inside, other=0.0)
    if BUG == "angle_in_fp16":
        cos = cos.to(tl.float16).to(tl.float32)
        sin = sin.to(tl.float16).to(tl.float32)
    x1 = tl.load(x_ptr + vector * 2 * half + first, mask=inside, other=0.0).to(tl.float32)
    x2 = tl.load(x_ptr + vector * 2 * half + second, mask=inside, other=0.0).to(tl.float32)
    if BUG == "turns_back":
        sin = -sin
    out = out_ptr + vector * 2 * half
    tl.store(out + first, (x1 * cos - x2 * sin).to(out_ptr.dtype.element_ty), mask=inside)
    tl.store(out + second, (x2 * cos + x1 * sin).to(out_ptr.dtype.element_ty), mask=inside)


def row(bug: str) -> Implementation:
    def rotated(x, cos, sin, interleaved, offset):
        batch, seq, heads, head_dim = x.shape
        out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        n = batch * seq * heads
        if out.numel():
            _kernel[(ceildiv(n, 64),)](x, cos, sin, out, n, seq, heads, head_dim // 2, offset, INTERLEAVED=interleaved, ROWS=64,
                                       PAIRS=next_power_of_2(head_dim // 2), BUG=bug)
        return out

    def forward(q, k, cos, sin, *, interleaved, offset):
        return rotated(q, cos, sin, interleaved, offset), rotated(k, cos, sin, interleaved, offset)

    def accepts(direction, *tensors, **attributes):
        return None if all(t.is_contiguous() for t in tensors) else "an input is not contiguous"

    return Implementation(f"triton/{bug}", forward, outputs=("q_out", "k_out"), accepts=accepts)


IMPLEMENTATIONS = [row(bug) for bug in ("right", "last_pair_missing", "head_for_token", "angle_in_fp16", "turns_back")]
