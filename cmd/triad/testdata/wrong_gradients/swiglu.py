"""Wrong gradients of swiglu: triton/right is right, the others are it with one line changed."""

import torch

from implementation import Implementation, ceildiv, tl, triton

BLOCK = 1024


@triton.jit
def _backward(gate_ptr, up_ptr, dy_ptr, dgate_ptr, dup_ptr, n, BLOCK: tl.constexpr, BUG: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gate = tl.load(gate_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    if BUG == "upstream_ignored":
        dy = tl.full([BLOCK], 1.0, tl.float32)
    s = tl.sigmoid(gate)
    slope = s if BUG == "term_missing" else s * (1 + gate * (1 - s))
    dgate = dy * up * slope
    dup = dy * gate * s
    if BUG == "sign":
        dup = -dup
    tl.store(dgate_ptr + i, dgate.to(dgate_ptr.dtype.element_ty), mask=i < n)
    tl.store(dup_ptr + i, dup.to(dup_ptr.dtype.element_ty), mask=i < n)


def forward(gate, up):
    return (torch.nn.functional.silu(gate.float()) * up.float()).to(gate.dtype)


def row(bug):
    def backward(gate, up, dy):
        dgate, dup = (torch.empty(gate.shape, dtype=gate.dtype) for _ in range(2))
        blocks = ceildiv(gate.numel(), BLOCK) - (1 if bug == "last_block_dropped" else 0)
        if blocks:
            _backward[(blocks,)](gate, up, dy, dgate, dup, gate.numel(), BLOCK=BLOCK, BUG=bug)
        return (dup, dgate) if bug == "swapped_outputs" else (dgate, dup)

    return Implementation(f"triton/{bug}", forward, backward, outputs=("y",), gradients=("grad_gate", "grad_up"))


IMPLEMENTATIONS = [row(bug) for bug in ("right", "upstream_ignored", "term_missing", "sign", "swapped_outputs", "last_block_dropped")]
