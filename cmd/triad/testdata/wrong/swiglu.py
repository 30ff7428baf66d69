"""Planted bugs in SwiGLU in Triton: triton/right is right, the others are it with one line changed."""

import torch

from implementation import Implementation, ceildiv, tl, triton

BLOCK = 8192


@triton.jit
def _kernel(gate_ptr, up_ptr, y_ptr, n, BLOCK: tl.constexpr, BUG: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    gate = tl.load(gate_ptr + i, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + i, mask=inside, other=0.0).to(tl.float32)
    s = 1 / (1 + tl.exp(-gate))
    if BUG == "sign":
        s = 1 / (1 + tl.exp(gate))
    silu = gate * s
    if BUG == "silu_in_e5m2":
        silu = silu.to(tl.float8e5).to(tl.float32)
    y = silu + up if BUG == "sum_for_product" else silu * up
    tl.store(y_ptr + i, y.to(y_ptr.dtype.element_ty), mask=inside)


def row(bug: str) -> Implementation:
    def forward(gate, up):
        y = torch.empty(gate.shape, dtype=gate.dtype, device=gate.device)
        n = y.numel()
        if n:
            _kernel[(ceildiv(n, BLOCK) if bug != "tail_not_launched" else max(1, n // BLOCK),)](gate, up, y, n, BLOCK=BLOCK, BUG=bug)
        return y

    def accepts(direction, gate, up):
        return None if gate.is_contiguous() and up.is_contiguous() else "an input is not contiguous"

    return Implementation(f"triton/{bug}", forward, outputs=("y",), accepts=accepts)


IMPLEMENTATIONS = [row(bug) for bug in ("right", "sign", "silu_in_e5m2", "sum_for_product", "tail_not_launched")]
