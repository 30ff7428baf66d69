"""Planted bugs in layer normalisation in Triton: triton/right is right, the others are it with one line changed. They give y alone."""

import torch

from implementation import Implementation, next_power_of_2, tl, triton


@triton.jit
def _kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, cols, eps, COLS: tl.constexpr, BUG: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, COLS)
    inside = c < cols
    x = tl.load(x_ptr + r * cols + c, mask=inside, other=0.0).to(tl.float32)
    n = COLS if BUG == "mean_over_padded_row" else cols
    mean = tl.sum(x, axis=0) / n
    d = x - mean if BUG == "padding_in_the_variance" else tl.where(inside, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(d * d, axis=0) / cols + (0.0 if BUG == "eps_missing" else eps))
    weight = tl.load(weight_ptr + c, mask=inside, other=0.0).to(tl.float32)
    if BUG == "gamma_plus_1":
        weight += 1
    bias = tl.load(bias_ptr + c, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + r * cols + c, ((x - mean) * rstd * weight + bias).to(y_ptr.dtype.element_ty), mask=inside)


def row(bug: str) -> Implementation:
    def forward(x, weight, bias, *, eps):
        y = torch.empty(x.shape, dtype=x.dtype, device=x.device)
        if y.numel():
            _kernel[(x.shape[0],)](x, weight, bias, y, x.shape[1], eps, COLS=next_power_of_2(x.shape[1]), BUG=bug)
        return y

    def accepts(direction, x, weight, bias, *, eps):
        return None if all(t.is_contiguous() for t in (x, weight, bias)) else "an input is not contiguous"

    return Implementation(f"triton/{bug}", forward, outputs=("y",), accepts=accepts)


IMPLEMENTATIONS = [row(bug) for bug in ("right", "mean_over_padded_row", "padding_in_the_variance", "eps_missing", "gamma_plus_1")]
