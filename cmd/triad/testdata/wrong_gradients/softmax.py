"""Wrong gradients of softmax: triton/right and torch/function are right, the others are they with one line changed."""

import torch

from implementation import Implementation, differentiable_row, next_power_of_2, tl, triton


@triton.jit
def _backward(y_ptr, dy_ptr, dx_ptr, cols, y_row, y_col, dy_row, dy_col, COLS: tl.constexpr, BUG: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, COLS)
    y = tl.load(y_ptr + r * y_row + c * y_col, mask=c < cols, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + r * dy_row + c * dy_col, mask=c < cols, other=0.0).to(tl.float32)
    if BUG == "upstream_ignored":
        dy = tl.where(c < cols, 1.0, 0.0)
    dot = tl.sum(y * dy, axis=0)
    if BUG == "mean_for_sum":
        dot = dot / cols
    if BUG == "term_missing":
        dot = 0.0
    dx = y * (dy - dot)
    if BUG == "doubled":
        dx = dx * 2
    if BUG == "accumulates":
        dx = dx + tl.load(dx_ptr + r * cols + c, mask=c < cols, other=0.0).to(tl.float32)
    tl.store(dx_ptr + r * cols + c, dx.to(dx_ptr.dtype.element_ty), mask=c < cols)


def row(bug, spoil=lambda dx: dx):
    def backward(y, dy):
        dx = torch.empty(y.shape, dtype=y.dtype, device=y.device)
        if dx.numel():
            _backward[(y.shape[0],)](y, dy, dx, y.shape[1], *y.stride(), *dy.stride(), COLS=next_power_of_2(y.shape[1]), BUG=bug)
        return spoil(dx)

    return Implementation(f"triton/{bug}", lambda x: torch.softmax(x, -1), backward, outputs=("y",), gradients=("grad_x",))


def nan_in_one(dx):
    dx.view(-1)[dx.numel() // 2] = float("nan")
    return dx


class Softmax(torch.autograd.Function):
    """softmax with a backward of its own, in fp32."""

    @staticmethod
    def forward(ctx, x, factor):
        y = torch.softmax(x.float(), -1)
        ctx.save_for_backward(y)
        ctx.factor = factor
        return y.to(x.dtype)

    @staticmethod
    def backward(ctx, dy):
        y, = ctx.saved_tensors
        dy = dy.float()
        return ((dy - (y * dy).sum(-1, keepdim=True)) * y * ctx.factor).to(torch.float32), None


def function(factor):
    return lambda x: Softmax.apply(x.float(), factor).to(x.dtype)


def autograd(name, factor):
    return differentiable_row(name, function(factor), 1, (0,), ("y",), ("grad_x",))


IMPLEMENTATIONS = [
    row("right"), row("upstream_ignored"), row("mean_for_sum"), row("term_missing"), row("doubled"), row("accumulates"),
    row("wrong_shape", lambda dx: dx.T.contiguous()), row("wrong_dtype", lambda dx: dx.double()), row("nan_in_one", nan_in_one),
    row("no_gradient", lambda dx: None), autograd("torch/function", 1), autograd("torch/wrong_function", -1),
    Implementation("torch/forward_alone", lambda x: torch.softmax(x, -1), outputs=("y",)),
]
