"""Planted bugs in softmax in Triton: triton/right is right, the others are it with one line changed."""

import torch

from implementation import Implementation, next_power_of_2, tl, triton


@triton.jit
def _kernel(x_ptr, y_ptr, cols, x_row, x_col, COLS: tl.constexpr, BUG: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, COLS)
    other = 0.0 if BUG == "padding_of_zeros" else float("-inf")
    x = tl.load(x_ptr + r * x_row + c * x_col, mask=c < cols, other=other).to(tl.float32)
    if BUG == "exp_in_16_bits":
        e = tl.exp((x - tl.max(x, axis=0)).to(tl.float16).to(tl.float32))
    else:
        e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    if BUG == "log_softmax":
        y = tl.log(y)
    tl.store(y_ptr + r * cols + c, y.to(y_ptr.dtype.element_ty), mask=c < (cols - 1 if BUG == "last_not_stored" else cols))


def row(bug: str) -> Implementation:
    def forward(x):
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        if y.numel():
            _kernel[(x.shape[0],)](x, y, x.shape[1], *x.stride(), COLS=next_power_of_2(x.shape[1]), BUG=bug)
        return y

    return Implementation(f"triton/{bug}", forward, outputs=("y",))


IMPLEMENTATIONS = [row(bug) for bug in ("right", "padding_of_zeros", "exp_in_16_bits", "log_softmax", "last_not_stored")]
