"""bias_mask_scale_add: y = (x + bias) * mask * scale + residual
backward: grad_x = grad_y * mask * scale, grad_bias = the sum of grad_x over the rows, grad_residual = grad_y

Layout   x, residual, y and their gradients: [rows, cols]; bias: [cols]; mask: [rows, cols] bool; all
         contiguous. fp32, fp16, bf16; every value inside and the sum over the rows are fp32.
Limits   rows = 0 gives zeros in grad_bias.
Special  The mask multiplies: inf where it is false gives NaN, as in torch.
Source   Vaswani et al. 2017, Attention Is All You Need, section 5.4
  triton/block   a tile of whole rows per program; the sums over the rows in two stages
  torch/eager    four kernels, each of which rounds to the dtype
  torch/compile  the same through Inductor, one kernel in fp32; grad_bias is the sum of the rounded grad_x
"""

import torch

from elementwise import rows
from implementation import ceildiv, sixteen_bit, tl, triton
from row_norm import parameter_gradients, tile

DIFFERENTIABLE = (0, 1, 3)  # of the inputs of reference


@triton.jit
def _bmsa_fwd_kernel(x_ptr, bias_ptr, mask_ptr, residual_ptr, y_ptr, rows, cols, scale, ROWS: tl.constexpr,
                     COLS: tl.constexpr):
    r, c = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None], tl.arange(0, COLS)[None, :]
    i, inside = r * cols + c, (r < rows) & (c < cols)
    x = tl.load(x_ptr + i, mask=inside, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + c, mask=c < cols, other=0.0).to(tl.float32)
    keep = tl.load(mask_ptr + i, mask=inside, other=0).to(tl.float32)
    residual = tl.load(residual_ptr + i, mask=inside, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, ((x + bias) * keep * scale + residual).to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _bmsa_bwd_kernel(dy_ptr, mask_ptr, dx_ptr, sums_ptr, dres_ptr, rows, cols, scale, ROWS: tl.constexpr,
                     COLS: tl.constexpr):
    c = tl.arange(0, COLS)
    total = tl.zeros((COLS,), tl.float32)
    for first in range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS):
        r = first.to(tl.int64) + tl.arange(0, ROWS)[:, None]
        i, inside = r * cols + c[None, :], (r < rows) & (c < cols)[None, :]
        dy = tl.load(dy_ptr + i, mask=inside, other=0.0).to(tl.float32)
        dx = dy * tl.load(mask_ptr + i, mask=inside, other=0).to(tl.float32) * scale
        tl.store(dx_ptr + i, dx.to(dx_ptr.dtype.element_ty), mask=inside)
        tl.store(dres_ptr + i, dy.to(dres_ptr.dtype.element_ty), mask=inside)
        total += tl.sum(dx, 0)
    tl.store(sums_ptr + tl.program_id(0).to(tl.int64) * cols + c, total, mask=c < cols)


def forward(x, bias, mask, residual, *, scale):
    """x, residual [rows, cols], bias [cols], mask [rows, cols] bool -> y [rows, cols] of the dtype of x."""
    y, shape = torch.empty_like(x), tile(*x.shape)
    if x.numel():
        grid = (ceildiv(x.shape[0], shape["ROWS"]),)
        _bmsa_fwd_kernel[grid](x, bias, mask, residual, y, *x.shape, scale, **shape)
    return y


def backward(grad_y, mask, *, scale):
    """grad_y, mask [rows, cols] -> grad_x [rows, cols], grad_bias [cols], grad_residual [rows, cols]."""
    grad_x, grad_residual = torch.empty_like(grad_y), torch.empty_like(grad_y)
    return grad_x, *parameter_gradients(
        grad_y, grad_y, 1, lambda programs, sums, shape: _bmsa_bwd_kernel[(programs,)](
            grad_y, mask, grad_x, sums, grad_residual, *grad_y.shape, scale, **shape)), grad_residual


def reference(x, bias, mask, residual, *, scale):
    """The formula in torch, in the dtype of x; differentiable."""
    return ((x + bias) * mask.to(x.dtype) * scale + residual).contiguous()


def reference_backward(grad_y, mask, *, scale):
    """The backward formula in torch."""
    grad_x = grad_y * mask.to(grad_y.dtype) * scale
    return grad_x.contiguous(), grad_x.sum(0), grad_y.clone(memory_format=torch.contiguous_format)


IMPLEMENTATIONS = rows(forward, backward, reference, ("grad_x", "grad_bias", "grad_residual"), DIFFERENTIABLE,
                       4, eager=sixteen_bit("eager"), compiled=sixteen_bit("eager", "backward"))
