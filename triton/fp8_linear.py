"""fp8_linear: y = Q(x) Q(w)^T, backward grad_x = Q(grad_y) Q(w) and grad_w = Q(grad_y)^T Q(x), where Q
quantises to fp8 along the dim that is summed, as a recipe of fp8 training does

tensorwise (torchao)  one scale for each tensor; e4m3, grad_y e5m2
rowwise (torchao)     one power of two for each row, of the transpose where that is what is summed; e4m3
rowwise_with_gw_hp    as rowwise, but grad_x takes w with one scale, and grad_w multiplies without Q
block (DeepSeek)      x and grad_y 1 x 128, w 128 x 128; grad_w of two that are 1 x 128; e4m3

Layout   x [m, k], w [n, k], grad_y [m, n] -> y [m, n], grad_x [m, k], grad_w [n, k] in their dtype: fp32,
         fp16, bf16, contiguous. scale_x, scale_w in fp32 as quantize_fp8 stores them: [1], [m] and [n], or
         [m, ceil(k/128)] and [ceil(n/128), ceil(k/128)].
         Products are summed in fp32; a tensor core that sums them in less hands over to fp32 every 128 of
         the sum (contract promoted).
Limits   m may be 0.
Source   torchao 0.18, float8_linear.py; DeepSeek-V3 2024, arXiv:2412.19437, section 3.3
  triton/composed   the kernels of quantize_fp8 and of fp8_gemm, one after the other
  torch/scaled_mm   the recipe in torch, and torch._scaled_mm without fast accumulation, where this build does
                    not refuse the sizes
  torch/dequant     the recipe in torch, the codes times their scales multiplied in fp32
  torchao/linear    torchao's Float8Linear, which has not block; its forward accumulates fast (contract fast)
"""

from typing import NamedTuple

import torch

import torchao_linear
from fp8_scales import SIDE, quantized, quantized_in_torch, tile_scales
from fp8_tiles import tiled
from implementation import Implementation, beside_peers, compile_for, numbers, too_old
from tried_linear import accepts_tried

DIFFERENTIABLE = (0, 1)  # of the inputs of reference


class Steps(NamedTuple):
    """How an operand is quantised: quantize_fp8's attributes."""

    format: str
    per: str
    recipe: str
    powers: bool


_TENSOR, _WIDE = Steps("e4m3", "tensor", "torchao", False), Steps("e5m2", "tensor", "torchao", False)
_ROW, _ONE = Steps("e4m3", "row", "torchao", True), Steps("e4m3", "tensor", "torchao", True)
_BLOCK, _TILE = Steps("e4m3", "block", "deepseek", False), Steps("e4m3", "tile", "deepseek", False)

STEPS = {  # of the operands of y, of grad_x and of grad_w; None: without Q
    "tensorwise": ((_TENSOR, _TENSOR), (_WIDE, _TENSOR), (_WIDE, _TENSOR)),
    "rowwise": ((_ROW, _ROW), (_ROW, _ROW), (_ROW, _ROW)),
    "rowwise_with_gw_hp": ((_ROW, _ROW), (_ROW, _ONE), None),
    "block": ((_BLOCK, _TILE), (_BLOCK, _TILE), (_BLOCK, _BLOCK)),
}


def _multipliers(scale, steps: Steps):
    """What codes are multiplied by: torchao stores the inverse."""
    return scale if steps.recipe == "deepseek" else scale.reciprocal()


def _product(quantise, multiply, a, b, steps):
    """a [m, k], b [n, k] -> their product [m, n] under two Steps, and the scales of both."""
    (codes_a, scale_a), (codes_b, scale_b) = (quantise(x, *s) for x, s in zip((a, b), steps, strict=True))
    y = multiply(codes_a, _multipliers(scale_a, steps[0]), codes_b, _multipliers(scale_b, steps[1]),
                 a.dtype, SIDE if steps[1].per == "tile" else 1)
    return y, scale_a, scale_b


def _passes(quantise, multiply, plain):
    """Forward and backward whose three products are multiply's, and plain's where nothing is quantised."""
    def forward(x, w, *, recipe):
        return _product(quantise, multiply, x, w, STEPS[recipe][0])

    def backward(x, w, grad_y, *, recipe):
        _, of_x, of_w = STEPS[recipe]
        grad_x = _product(quantise, multiply, grad_y, w.t(), of_x)[0]
        if of_w is None:
            return grad_x, plain(grad_y.t(), x.t())
        return grad_x, _product(quantise, multiply, grad_y.t(), x.t(), of_w)[0]

    return forward, backward


# ---- triton


def _of_rows(scale, rows: int):
    """A scale of a tensor, as one of each row."""
    return scale.expand(rows) if scale.dim() == 1 else scale


def _tiles(a, scale_a, b, scale_b, dtype, shared: int):
    """fp8_tiles.tiled, also where one operand has a scale of the tensor and the other of rows."""
    if scale_a.numel() != scale_b.numel() and scale_a.dim() == 1:
        scale_a, scale_b = _of_rows(scale_a, a.shape[0]), _of_rows(scale_b, b.shape[0])
    return tiled(a, scale_a, b, scale_b, dtype, shared)


def _accepts_triton(direction, x, *rest, recipe):
    """Triton has no conversion of its own for e4m3 below 8.9."""
    return too_old(x.device, "Triton's e4m3", (8, 9))


# ---- torch


def _spread(scale, shape, shared: int):
    """The multiplier of every element of [rows, k]; one of a block is of shared rows x 128."""
    if scale.dim() == 2:
        return scale.repeat_interleave(shared, 0)[:shape[0]].repeat_interleave(SIDE, 1)[:, :shape[1]]
    return scale[:, None]


def _dequantised(a, scale_a, b, scale_b, dtype, shared: int):
    """The product in fp32 of codes times their scales, rounded once."""
    return ((a.float() * _spread(scale_a, a.shape, 1)) @ (b.float() * _spread(scale_b, b.shape, shared)).T
            ).to(dtype)


def _plain(a, b):
    return a @ b.T


def _scaled_mm(a, scale_a, b, scale_b, dtype, shared: int):
    """torch._scaled_mm on operands as it wants them: dense, scales of rows that broadcast, and of blocks with
    rows innermost."""
    if not a.numel():
        return torch.zeros((a.shape[0], b.shape[0]), dtype=dtype, device=a.device)
    if scale_a.dim() == 2:
        scale_a = scale_a.T.contiguous().T
        scale_b = scale_b.T.contiguous() if shared == 1 else tile_scales(scale_b)
    elif scale_a.numel() > 1 or scale_b.numel() > 1:
        scale_a = _of_rows(scale_a, a.shape[0])[:, None].contiguous()
        scale_b = _of_rows(scale_b, b.shape[0])[None, :].contiguous()
    return torch._scaled_mm(a.contiguous(), b.contiguous().T, scale_a=scale_a, scale_b=scale_b,
                            out_dtype=dtype, use_fast_accum=False)


def _represented(t, steps: Steps):
    """What the codes of t [rows, k] stand for, in its dtype, and the scales. Gradients pass the rounding as
    if it were not there."""
    codes, scale = quantized_in_torch(numbers(t.detach()), *steps)
    multiplier = _spread(_multipliers(scale, steps), t.shape, SIDE if steps.per == "tile" else 1)
    return t + (codes.to(t.dtype) * multiplier.to(t.dtype) - t).detach(), scale


def reference(x, w, *, recipe):
    """The formula in torch, differentiable."""
    (a, scale_x), (b, scale_w) = (_represented(*of) for of in zip((x, w), STEPS[recipe][0], strict=True))
    return a @ b.T, scale_x, scale_w


def reference_backward(x, w, grad_y, *, recipe):
    """The backward formula in torch."""
    def product(a, b, steps):
        return a @ b.T if steps is None else _represented(a, steps[0])[0] @ _represented(b, steps[1])[0].T
    _, of_x, of_w = STEPS[recipe]
    return product(grad_y, w.T, of_x), product(grad_y.T, x.T, of_w)


_SCALED_MM = _passes(quantized_in_torch, _scaled_mm, _plain)
_ROWS = {"outputs": ("y", "scale_x", "scale_w"), "gradients": ("grad_x", "grad_w")}
_TRIED = "sizes that this build of torch does not refuse"

IMPLEMENTATIONS = [
    Implementation("triton/composed", *_passes(quantized, _tiles, _plain), contract="promoted",
                   accepts=_accepts_triton, **_ROWS,
                   constraint="a GPU of compute capability 8.9 or newer, or none"),
    Implementation("torch/scaled_mm", *_SCALED_MM, contract="promoted", **_ROWS,
                   accepts=accepts_tried("torch/scaled_mm", *_SCALED_MM), constraint=_TRIED),
    *beside_peers(Implementation("torch/compile", *map(compile_for, _SCALED_MM), contract="promoted",
                                 compiled=True, constraint=_TRIED,
                                 accepts=accepts_tried("torch/compile", *_SCALED_MM), **_ROWS)),
    Implementation("torch/dequant", *_passes(quantized_in_torch, _dequantised, _plain), contract="promoted",
                   **_ROWS),
    Implementation("torchao/linear", torchao_linear.forward, torchao_linear.backward,
                   contract=torchao_linear.CONTRACT, module="torchao.float8", accepts=torchao_linear.accepts,
                   constraint="recipes of torchao, those with scales of rows in bf16; " + _TRIED, **_ROWS),
]
