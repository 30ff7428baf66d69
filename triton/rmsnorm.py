"""rmsnorm over the last dimension: y = h * rstd * weight, h = x + residual or x, rstd = 1 / sqrt(sum_c h^2 /
cols + eps)
backward, with n = h * rstd and w = weight * grad_y: grad_x = rstd * (w - n * mean_c(w * n)) + grad_h,
grad_residual = grad_x, grad_weight = sum_r grad_y * n

Layout   x, y, residual, h and their gradients: [rows, cols], residual and h empty without add; weight [cols];
         rstd [rows] fp32. Inputs with any strides, outputs contiguous. fp32, fp16, bf16; every value inside
         is fp32, the sum h too.
Limits   rows = 0 gives zeros for grad_weight.
Source   Zhang and Sennrich 2019, arXiv:1910.07467
  triton/row     a tile of whole rows per program; cols <= 131072; the backward sums grad_weight in two
                 stages, always in the same order
  torch/eager    torch.nn.functional.rms_norm of the rounded sum
  torch/compile  the same in fp32, rounded once, through Inductor
  liger/kernel   Liger-Kernel's Triton kernels, which compute in fp32 and take the rounded sum; rows of up to
                 65536
  quack/kernel   quack-kernels' CuTe kernel; its backward takes the rounded sum
"""

import torch
import torch.nn.functional as F

from implementation import (
    LIGER_ROWS,
    Implementation,
    aligned,
    ceildiv,
    compile_for,
    differentiable_row,
    fused_by_liger,
    rounded,
    sixteen_bit,
    tl,
    triton,
)
from row_norm import CONSTRAINT, accepts, parameter_gradients, tile

DIFFERENTIABLE = (0, 1, 2)  # of the inputs of reference


@triton.jit
def _load_sum(x_ptr, residual_ptr, r, c, inside, x_row, x_col, residual_row, residual_col, ADD: tl.constexpr):
    s = tl.load(x_ptr + r * x_row + c * x_col, mask=inside, other=0.0).to(tl.float32)
    if ADD:
        at = residual_ptr + r * residual_row + c * residual_col
        s += tl.load(at, mask=inside, other=0.0).to(tl.float32)
    return s


@triton.jit
def _rmsnorm_fwd_kernel(x_ptr, residual_ptr, weight_ptr, y_ptr, rstd_ptr, h_ptr, rows, cols, eps, x_row,
                        x_col, residual_row, residual_col, weight_col,
                        ADD: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """A tile of ROWS whole rows, COLS >= cols."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    col = tl.arange(0, COLS).to(tl.int64)
    r = row[:, None]
    c = col[None, :]
    inside = (r < rows) & (c < cols)
    s = _load_sum(x_ptr, residual_ptr, r, c, inside, x_row, x_col, residual_row, residual_col, ADD)
    if ADD:
        tl.store(h_ptr + r * cols + c, s.to(h_ptr.dtype.element_ty), mask=inside)
    rstd = tl.rsqrt(tl.sum(s * s, axis=1) / cols + eps)
    weight = tl.load(weight_ptr + col * weight_col, mask=col < cols, other=0.0).to(tl.float32)
    y = s * rstd[:, None] * weight[None, :]
    tl.store(y_ptr + r * cols + c, y.to(y_ptr.dtype.element_ty), mask=inside)
    tl.store(rstd_ptr + row, rstd, mask=row < rows)


@triton.jit
def _rmsnorm_bwd_kernel(x_ptr, residual_ptr, weight_ptr, rstd_ptr, dy_ptr, dh_ptr, dx_ptr, dresidual_ptr,
                        dweight_ptr, rows, cols, programs, x_row, x_col, residual_row, residual_col,
                        weight_col, rstd_row, dy_row, dy_col, dh_row, dh_col,
                        ADD: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    """Every programs-th tile of ROWS whole rows: dx, and this program's partial sum dweight[program, :]."""
    program = tl.program_id(0)
    col = tl.arange(0, COLS).to(tl.int64)
    c = col[None, :]
    weight = tl.load(weight_ptr + col * weight_col, mask=col < cols, other=0.0).to(tl.float32)
    dweight = tl.zeros([COLS], tl.float32)
    for start in range(program * ROWS, rows, programs * ROWS):
        row = (start + tl.arange(0, ROWS)).to(tl.int64)
        r = row[:, None]
        inside = (r < rows) & (c < cols)
        s = _load_sum(x_ptr, residual_ptr, r, c, inside, x_row, x_col, residual_row, residual_col, ADD)
        dy = tl.load(dy_ptr + r * dy_row + c * dy_col, mask=inside, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + row * rstd_row, mask=row < rows, other=0.0)
        n = s * rstd[:, None]
        w = dy * weight[None, :]
        mean = tl.sum(w * n, axis=1) / cols
        dx = rstd[:, None] * (w - n * mean[:, None])
        if ADD:
            dx += tl.load(dh_ptr + r * dh_row + c * dh_col, mask=inside, other=0.0).to(tl.float32)
            tl.store(dresidual_ptr + r * cols + c, dx.to(dx_ptr.dtype.element_ty), mask=inside)
        tl.store(dx_ptr + r * cols + c, dx.to(dx_ptr.dtype.element_ty), mask=inside)
        dweight += tl.sum(dy * n, axis=0)
    tl.store(dweight_ptr + program * cols + col, dweight, mask=col < cols)


def forward(x, residual, weight, *, add, eps):
    """x [rows, cols], residual of x's shape or empty, weight [cols] -> y, rstd [rows] fp32, h as residual."""
    rows, cols = x.shape
    y, h = (torch.empty(t.shape, dtype=x.dtype, device=x.device) for t in (x, residual))
    rstd = torch.empty(rows, dtype=torch.float32, device=x.device)
    if rows:
        shape = tile(rows, cols)
        _rmsnorm_fwd_kernel[(ceildiv(rows, shape["ROWS"]),)](
            x, residual, weight, y, rstd, h, rows, cols, eps, *x.stride(), *residual.stride(),
            *weight.stride(), ADD=add, **shape)
    return y, rstd, h


def backward(x, residual, weight, rstd, grad_y, grad_h, *, add, eps):
    """What forward takes, rstd and the gradients of y and h -> those of x, residual and weight. eps is in
    rstd already."""
    dx, dresidual = (torch.empty(t.shape, dtype=x.dtype, device=x.device) for t in (x, residual))

    def launch(programs, partials, shape):
        _rmsnorm_bwd_kernel[(programs,)](
            x, residual, weight, rstd, grad_y, grad_h, dx, dresidual, partials, *x.shape, programs,
            *x.stride(), *residual.stride(), *weight.stride(), *rstd.stride(), *grad_y.stride(),
            *grad_h.stride(), ADD=add, **shape)

    return dx, dresidual, *parameter_gradients(x, weight, 1, launch)


def reference(x, residual, weight, *, add, eps):
    """The formula in torch, in the dtype of x: y, rstd, h; differentiable."""
    h = x + residual if add else x
    stored = rounded(h) if add else h
    rstd = torch.rsqrt((stored * stored).mean(-1) + eps)
    n = stored * rstd[:, None]
    return (n if add else rounded(n)) * weight, rstd, h if add else h[:0]


def reference_backward(x, residual, weight, rstd, grad_y, grad_h, *, add, eps):
    """The backward formula in torch, on the saved tensor."""
    n = (x + residual if add else x) * rstd[:, None]
    w = weight * grad_y if add else rounded(weight * grad_y)
    grad_x = rstd[:, None] * (w - n * (w * n).mean(-1, keepdim=True))
    grad_x = grad_x + grad_h if add else grad_x
    terms = grad_y * n if add else rounded(grad_y * rounded(n))
    return grad_x, grad_x if add else grad_x[:0], terms.sum(0)


def forward_eager(x, residual, weight, *, add, eps):
    """y and h: torch saves what the backward needs."""
    h = x + residual if add else torch.empty_like(residual)
    y = F.rms_norm(h if add else x, (x.shape[1],), weight, eps)
    return y.contiguous(), h.contiguous()


def forward_upcast(x, residual, weight, *, add, eps):
    """y and h: every value inside fp32, each rounded once."""
    y, h = forward_eager(x.float(), residual.float(), weight.float(), add=add, eps=eps)
    return y.to(x.dtype), h.to(x.dtype)


def _liger(x, residual, weight, *, add, eps):
    from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction
    if add:
        return LigerFusedAddRMSNormFunction.apply(x, residual, weight, eps, 0.0, "gemma", False)
    return LigerRMSNormFunction.apply(x, weight, eps, 0.0, "gemma", False), torch.empty_like(residual)


def _quack(x, residual, weight, *, add, eps):
    from quack.rmsnorm import rmsnorm
    if add:
        return rmsnorm(aligned(x), aligned(weight), residual=aligned(residual), eps=eps, prenorm=True)
    return rmsnorm(aligned(x), aligned(weight), eps=eps), torch.empty_like(residual)


_GRADIENTS = ("grad_x", "grad_residual", "grad_weight")
_ROW = (3, DIFFERENTIABLE, ("y", "h"), _GRADIENTS)  # of a function that autograd goes through

IMPLEMENTATIONS = [
    Implementation("triton/row", forward, backward, outputs=("y", "rstd", "h"), gradients=_GRADIENTS,
                   accepts=accepts, constraint=CONSTRAINT),
    differentiable_row("torch/eager", forward_eager, *_ROW, contract=sixteen_bit("stored")),
    differentiable_row("torch/compile", compile_for(forward_upcast), *_ROW, compiled=True),
    differentiable_row("liger/kernel", _liger, *_ROW, module="liger_kernel.ops.rms_norm",
                       contract=sixteen_bit("stored"), accepts=fused_by_liger, constraint=LIGER_ROWS),
    differentiable_row("quack/kernel", _quack, *_ROW, module="quack.rmsnorm",
                       contract=sixteen_bit("stored", "backward")),
]
