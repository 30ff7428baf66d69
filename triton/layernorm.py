"""layernorm over the last dimension: y = (x - mean) * rstd * weight + bias, with mean = sum_c x / cols,
rstd = 1 / sqrt(sum_c (x - mean)^2 / cols + eps)
backward, with h = (x - mean) * rstd and w = weight * grad_y: grad_x = rstd * (w - mean_c(w) - h * mean_c(w *
h)), grad_weight = sum_r grad_y * h, grad_bias = sum_r grad_y

Layout   x, y, grad_y, grad_x: [rows, cols]; weight, bias and their gradients [cols]; mean, rstd [rows] fp32.
         Inputs with any strides, outputs contiguous. fp32, fp16, bf16; every value inside is fp32, the
         variance in a second pass over the row in registers.
Limits   rows = 0 gives zeros for grad_weight and grad_bias.
Source   Ba, Kiros and Hinton 2016, arXiv:1607.06450
  triton/row     a tile of whole rows per program; cols <= 131072; the backward sums grad_weight and grad_bias
                 in two stages, always in the same order
  torch/eager    torch.nn.functional.layer_norm
  torch/compile  torch.nn.functional.layer_norm in fp32, rounded once, through Inductor
  liger/kernel   Liger-Kernel's Triton kernel, rows of up to 65536
  quack/kernel   quack-kernels' CuTe kernel, which wants weight and bias in fp32: in 16 bits its forward casts
                 them first
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
    tl,
    triton,
)
from row_norm import CONSTRAINT, accepts, parameter_gradients, tile

DIFFERENTIABLE = (0, 1, 2)  # of the inputs of reference


@triton.jit
def _layernorm_fwd_kernel(x_ptr, weight_ptr, bias_ptr, y_ptr, mean_ptr, rstd_ptr, rows, cols, eps, x_row,
                          x_col, weight_col, bias_col,
                          ROWS: tl.constexpr, COLS: tl.constexpr):
    """A tile of ROWS whole rows, COLS >= cols."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    col = tl.arange(0, COLS).to(tl.int64)
    r = row[:, None]
    c = col[None, :]
    inside = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * x_row + c * x_col, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1) / cols
    centred = tl.where(inside, x - mean[:, None], 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred, axis=1) / cols + eps)
    weight = tl.load(weight_ptr + col * weight_col, mask=col < cols, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + col * bias_col, mask=col < cols, other=0.0).to(tl.float32)
    y = centred * rstd[:, None] * weight[None, :] + bias[None, :]
    tl.store(y_ptr + r * cols + c, y.to(y_ptr.dtype.element_ty), mask=inside)
    tl.store(mean_ptr + row, mean, mask=row < rows)
    tl.store(rstd_ptr + row, rstd, mask=row < rows)


@triton.jit
def _layernorm_bwd_kernel(x_ptr, weight_ptr, mean_ptr, rstd_ptr, dy_ptr, dx_ptr, dweight_ptr, dbias_ptr, rows,
                          cols, programs,
                          x_row, x_col, weight_col, mean_row, rstd_row, dy_row, dy_col, ROWS: tl.constexpr,
                          COLS: tl.constexpr):
    """Every programs-th tile of ROWS whole rows: dx, and this program's partial sums dweight[program, :] and
    dbias[program, :]."""
    program = tl.program_id(0)
    col = tl.arange(0, COLS).to(tl.int64)
    c = col[None, :]
    weight = tl.load(weight_ptr + col * weight_col, mask=col < cols, other=0.0).to(tl.float32)
    dweight = tl.zeros([COLS], tl.float32)
    dbias = tl.zeros([COLS], tl.float32)
    for start in range(program * ROWS, rows, programs * ROWS):
        row = (start + tl.arange(0, ROWS)).to(tl.int64)
        r = row[:, None]
        inside = (r < rows) & (c < cols)
        x = tl.load(x_ptr + r * x_row + c * x_col, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + r * dy_row + c * dy_col, mask=inside, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + row * mean_row, mask=row < rows, other=0.0)
        rstd = tl.load(rstd_ptr + row * rstd_row, mask=row < rows, other=0.0)
        h = tl.where(inside, (x - mean[:, None]) * rstd[:, None], 0.0)
        w = dy * weight[None, :]
        mean_w = tl.sum(w, axis=1) / cols
        mean_wh = tl.sum(w * h, axis=1) / cols
        dx = rstd[:, None] * (w - mean_w[:, None] - h * mean_wh[:, None])
        tl.store(dx_ptr + r * cols + c, dx.to(dx_ptr.dtype.element_ty), mask=inside)
        dweight += tl.sum(dy * h, axis=0)
        dbias += tl.sum(dy, axis=0)
    tl.store(dweight_ptr + program * cols + col, dweight, mask=col < cols)
    tl.store(dbias_ptr + program * cols + col, dbias, mask=col < cols)


def forward(x, weight, bias, *, eps):
    """x [rows, cols], weight, bias [cols] -> y [rows, cols] of x's dtype, mean and rstd [rows] fp32."""
    rows, cols = x.shape
    y = torch.empty((rows, cols), dtype=x.dtype, device=x.device)
    mean, rstd = (torch.empty(rows, dtype=torch.float32, device=x.device) for _ in range(2))
    if rows:
        shape = tile(rows, cols)
        _layernorm_fwd_kernel[(ceildiv(rows, shape["ROWS"]),)](
            x, weight, bias, y, mean, rstd, rows, cols, eps, *x.stride(), *weight.stride(), *bias.stride(),
            **shape)
    return y, mean, rstd


def backward(x, weight, mean, rstd, grad_y, *, eps):
    """x, grad_y [rows, cols], weight [cols], mean, rstd [rows] -> grad_x [rows, cols], grad_weight, grad_bias
    [cols]; the gradients have x's dtype. eps is in rstd already."""
    grad_x = torch.empty(x.shape, dtype=x.dtype, device=x.device)

    def launch(programs, partials, shape):
        _layernorm_bwd_kernel[(programs,)](
            x, weight, mean, rstd, grad_y, grad_x, partials[0], partials[1], *x.shape, programs,
            *x.stride(), *weight.stride(), *mean.stride(), *rstd.stride(), *grad_y.stride(), **shape)

    return grad_x, *parameter_gradients(x, weight, 2, launch)


def reference(x, weight, bias, *, eps):
    """The formula in torch, in the dtype of x: y, mean, rstd; differentiable."""
    mean = x.mean(-1)
    centred = x - mean[:, None]
    rstd = torch.rsqrt((centred * centred).mean(-1) + eps)
    return centred * rstd[:, None] * weight + bias, mean, rstd


def reference_backward(x, weight, mean, rstd, grad_y, *, eps):
    """The backward formula in torch, on saved tensors."""
    h = (x - mean[:, None]) * rstd[:, None]
    w = weight * grad_y
    grad_x = rstd[:, None] * (w - w.mean(-1, keepdim=True) - h * (w * h).mean(-1, keepdim=True))
    return grad_x, (grad_y * h).sum(0), grad_y.sum(0)


def forward_eager(x, weight, bias, *, eps):
    """y alone: torch saves mean and rstd in a dtype of its own choice."""
    return F.layer_norm(x, (x.shape[1],), weight, bias, eps).contiguous()


def forward_upcast(x, weight, bias, *, eps):
    """y alone: every value inside fp32, rounded once. In 16 bits torch.compile would save mean and rstd for
    the backward in the dtype."""
    return forward_eager(x.float(), weight.float(), bias.float(), eps=eps).to(x.dtype)


def _liger(x, weight, bias, *, eps):
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction
    return LigerLayerNormFunction.apply(x, weight, bias, eps)


def _quack_forward(x, weight, bias, *, eps):
    from quack.rmsnorm import layernorm_fwd
    y, rstd, mean = layernorm_fwd(aligned(x), aligned(weight.float()), aligned(bias.float()), eps,
                                  return_rstd=True, return_mean=True)
    return y, mean, rstd


def _quack_backward(x, weight, mean, rstd, grad_y, *, eps):
    from quack.rmsnorm import layernorm_bwd
    return layernorm_bwd(aligned(x), aligned(weight), aligned(grad_y), aligned(rstd), aligned(mean))


_GRADIENTS = ("grad_x", "grad_weight", "grad_bias")

IMPLEMENTATIONS = [
    Implementation("triton/row", forward, backward, outputs=("y", "mean", "rstd"), gradients=_GRADIENTS,
                   accepts=accepts, constraint=CONSTRAINT),
    differentiable_row("torch/eager", forward_eager, 3, DIFFERENTIABLE, ("y",), _GRADIENTS),
    differentiable_row("torch/compile", compile_for(forward_upcast), 3, DIFFERENTIABLE, ("y",), _GRADIENTS,
                       compiled=True),
    differentiable_row("liger/kernel", _liger, 3, DIFFERENTIABLE, ("y",), _GRADIENTS,
                       module="liger_kernel.ops.layer_norm", accepts=fused_by_liger,
                       constraint=LIGER_ROWS),
    Implementation("quack/kernel", _quack_forward, _quack_backward, outputs=("y", "mean", "rstd"),
                   gradients=_GRADIENTS, module="quack.rmsnorm"),
]
