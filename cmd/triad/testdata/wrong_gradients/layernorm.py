"""Wrong gradients of layernorm: triton/right is right, the others are it with one line changed."""

import torch

from implementation import Implementation, differentiable_row, next_power_of_2, tl, triton

ROWS = 8


@triton.jit
def _rows(x_ptr, w_ptr, mean_ptr, rstd_ptr, dy_ptr, dx_ptr, cols, COLS: tl.constexpr, BUG: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, COLS)
    inside = c < cols
    rstd = tl.load(rstd_ptr + r)
    xhat = tl.where(inside, (tl.load(x_ptr + r * cols + c, mask=inside, other=0.0).to(tl.float32) - tl.load(mean_ptr + r)) * rstd, 0.0)
    wdy = tl.load(w_ptr + c, mask=inside, other=0.0).to(tl.float32) * tl.load(dy_ptr + r * cols + c, mask=inside, other=0.0).to(tl.float32)
    c1 = tl.sum(wdy, axis=0) / cols
    c2 = tl.sum(wdy * xhat, axis=0) / cols
    if BUG == "term_missing":
        c2 = 0.0
    tl.store(dx_ptr + r * cols + c, (rstd * (wdy - c1 - xhat * c2)).to(dx_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _columns(x_ptr, mean_ptr, rstd_ptr, dy_ptr, dw_ptr, db_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr, BUG: tl.constexpr):
    c = tl.arange(0, COLS)[None, :]
    dw = tl.zeros([1, COLS], tl.float32)
    db = tl.zeros([1, COLS], tl.float32)
    last = rows
    if BUG == "last_block_dropped":
        last = (rows - 1) // ROWS * ROWS
    for start in range(0, last, ROWS):
        r = start + tl.arange(0, ROWS)[:, None]
        inside = (r < rows) & (c < cols)
        mean = tl.load(mean_ptr + r, mask=r < rows, other=0.0)
        rstd = tl.load(rstd_ptr + r, mask=r < rows, other=0.0)
        xhat = (tl.load(x_ptr + r * cols + c, mask=inside, other=0.0).to(tl.float32) - mean) * rstd
        dy = tl.load(dy_ptr + r * cols + c, mask=inside, other=0.0).to(tl.float32)
        dw += tl.sum(dy * xhat, axis=0)[None, :]
        db += tl.sum(dy, axis=0)[None, :]
    if BUG == "mean_for_sum":
        dw = dw / rows
        db = db / rows
    tl.store(dw_ptr + c, dw.to(dw_ptr.dtype.element_ty), mask=c < cols)
    tl.store(db_ptr + c, db.to(db_ptr.dtype.element_ty), mask=c < cols)


def forward(x, weight, bias, eps):
    mean = x.float().mean(-1)
    rstd = torch.rsqrt((x.float() - mean[:, None]).square().mean(-1) + eps)
    return (((x.float() - mean[:, None]) * rstd[:, None]) * weight.float() + bias.float()).to(x.dtype), mean, rstd


def row(bug, arrange=lambda *gradients: gradients, forward=forward):
    def backward(x, weight, mean, rstd, dy, eps):
        dx, dw, db = (torch.empty(t.shape, dtype=t.dtype) for t in (x, weight, weight))
        cols = next_power_of_2(x.shape[1])
        _rows[(x.shape[0],)](x, weight, mean, rstd, dy, dx, x.shape[1], COLS=cols, BUG=bug)
        _columns[(1,)](x, mean, rstd, dy, dw, db, *x.shape, ROWS=ROWS, COLS=cols, BUG=bug)
        return arrange(dx, dw, db)

    return Implementation(f"triton/{bug}", forward, backward, outputs=("y", "mean", "rstd"), gradients=("grad_x", "grad_weight", "grad_bias"))


def _function(wrong):
    """layernorm as a torch.autograd.Function; wrong: grad_bias is lost where no other gradient is asked for, and the others where they are alone."""

    class LayerNorm(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias, eps):
            y, mean, rstd = forward(x, weight, bias, eps)
            ctx.save_for_backward(x, weight, mean, rstd)
            return y

        @staticmethod
        def backward(ctx, dy):
            x, weight, mean, rstd = ctx.saved_tensors
            xhat, dy = (x.float() - mean[:, None]) * rstd[:, None], dy.float()
            wdy = dy * weight.float()
            dx = rstd[:, None] * (wdy - wdy.mean(-1, keepdim=True) - xhat * (wdy * xhat).mean(-1, keepdim=True))
            if wrong and not all(ctx.needs_input_grad[:3]):
                dx = dx * 0
            return dx.to(x.dtype), (dy * xhat).sum(0).to(x.dtype), dy.sum(0).to(x.dtype), None

    return lambda x, weight, bias, eps: LayerNorm.apply(x, weight, bias, eps)


GRADIENTS = ("grad_x", "grad_weight", "grad_bias")
IMPLEMENTATIONS = [
    row("right"), row("term_missing"), row("last_block_dropped"), row("mean_for_sum"), row("swapped_outputs", lambda dx, dw, db: (dx, db, dw)),
    row("no_bias_gradient", lambda dx, dw, db: (dx, dw)),
    row("saves_no_rstd", forward=lambda *inputs, eps: forward(*inputs, eps)[:2] + (None,)),
    differentiable_row("torch/function", _function(False), 3, (0, 1, 2), ("y",), GRADIENTS),
    differentiable_row("torch/wrong_alone", _function(True), 3, (0, 1, 2), ("y",), GRADIENTS),
]
