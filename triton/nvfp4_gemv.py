"""nvfp4_gemv: y[i] = alpha * sum_j (a[i,j] * scale_a[i,j/16]) * (x[j] * scale_x[j/16])

Layout   a [m, k/2], x [k/2] bytes of two fp4 numbers (e2m1), the first in the low half, with any strides;
         scale_a [m, k/16], scale_x [k/16] e4m3; y [m] fp16. Multiplied and added in fp32.
Limits   m = 0 launches nothing; k is a multiple of 16.
Source   Rouhani et al. 2023, OCP Microscaling Formats; NVIDIA 2025, arXiv:2509.25149, section 2
  triton/row    a few rows per program; a number's bits become those of an fp16 number of the same ones
  torch/eager   torch.mv of the numbers decoded to fp32

torch.compile has no row: Inductor knows no dtype of two fp4 numbers.
"""

import torch

from implementation import INTERPRETED, Implementation, ceildiv, next_power_of_2, tl, triton

DIFFERENTIABLE = ()  # of the inputs of reference: codes have no gradients
ROWS = 32 if INTERPRETED else 4  # of a program
BLOCK = 4096 if INTERPRETED else 1024  # bytes of a row that a program reads at once
GROUP = 8  # bytes that share a scale


@triton.jit
def _number(codes):
    """The numbers of codes in the low four bits, times 2^-14: fp16 has more exponents, so that its bias is
    14 more, and its own subnormals have this one's places."""
    bits = (codes & 8) << 12 | (codes & 7) << 9
    return bits.to(tl.uint16).to(tl.float16, bitcast=True).to(tl.float32)


@triton.jit
def _scale(codes):
    """The numbers of codes in e4m3, likewise: its bias is 8 less than that of fp16, and its NaN another."""
    bits = (codes & 0x80) << 8 | (codes & 0x7F) << 7
    value = bits.to(tl.uint16).to(tl.float16, bitcast=True).to(tl.float32) * 256.0
    return tl.where(codes & 0x7F == 0x7F, float("nan"), value)


@triton.jit
def _nvfp4_gemv_kernel(a_ptr, scale_a_ptr, x_ptr, scale_x_ptr, y_ptr, alpha, m, pairs, a_row, a_col,
                       scale_a_row, scale_a_col, x_col, scale_x_col, ROWS: tl.constexpr, BLOCK: tl.constexpr,
                       GROUP: tl.constexpr):
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    total = tl.zeros([ROWS, BLOCK // GROUP], dtype=tl.float32)
    for first in range(0, pairs, BLOCK):
        c = first + tl.arange(0, BLOCK).to(tl.int64)
        g = first // GROUP + tl.arange(0, BLOCK // GROUP).to(tl.int64)
        x = tl.load(x_ptr + c * x_col, mask=c < pairs, other=0).to(tl.int32)
        a = tl.load(a_ptr + r[:, None] * a_row + c[None, :] * a_col,
                    mask=(r < m)[:, None] & (c < pairs)[None, :], other=0).to(tl.int32)
        scale_x = tl.load(scale_x_ptr + g * scale_x_col, mask=g * GROUP < pairs, other=0).to(tl.int32)
        scale_a = tl.load(scale_a_ptr + r[:, None] * scale_a_row + g[None, :] * scale_a_col,
                          mask=(r < m)[:, None] & (g * GROUP < pairs)[None, :], other=0).to(tl.int32)
        products = _number(a) * _number(x)[None, :] + _number(a >> 4) * _number(x >> 4)[None, :]
        sums = tl.sum(tl.reshape(products, [ROWS, BLOCK // GROUP, GROUP]), 2)
        total += sums * 268435456.0 * (_scale(scale_a) * _scale(scale_x)[None, :])  # 2^28, twice 2^14
    tl.store(y_ptr + r, (tl.sum(total, 1) * alpha).to(tl.float16), mask=r < m)


def forward(a, scale_a, x, scale_x, *, alpha):
    """a [m, k/2], x [k/2] e2m1x2, scale_a [m, k/16], scale_x [k/16] e4m3 -> y [m] fp16."""
    m, pairs = a.shape
    y = torch.empty(m, dtype=torch.float16, device=a.device)
    if m:
        codes = (t.view(torch.uint8) for t in (a, scale_a, x, scale_x))  # Triton has no type of fp4
        _nvfp4_gemv_kernel[(ceildiv(m, ROWS),)](
            *codes, y, alpha, m, pairs, *a.stride(), *scale_a.stride(), x.stride(0), scale_x.stride(0),
            ROWS=ROWS, BLOCK=min(BLOCK, next_power_of_2(pairs)), GROUP=GROUP)
    return y


# ---- torch


def _dequantised(packed, scale):
    """The numbers of packed bytes times their scales, in the dtype of scale."""
    codes = packed.view(torch.uint8)
    codes = torch.stack((codes & 15, codes >> 4), -1).flatten(-2).to(torch.int16)
    numbers = ((codes & 8) << 12 | (codes & 7) << 9).view(torch.float16).to(scale.dtype) * 2.0**14
    return numbers * scale.repeat_interleave(2 * GROUP, -1)


def reference(a, scale_a, x, scale_x, *, alpha):
    """The formula in torch, in the dtype of the scales."""
    return torch.mv(_dequantised(a, scale_a), _dequantised(x, scale_x)) * alpha


def eager(a, scale_a, x, scale_x, *, alpha):
    """The formula in fp32, rounded once."""
    return reference(a, scale_a.float(), x, scale_x.float(), alpha=alpha).half()


_NAMES = {"outputs": ("y",), "dtypes": ("e2m1x2",)}

IMPLEMENTATIONS = [
    Implementation("triton/row", forward, **_NAMES),
    Implementation("torch/eager", eager, **_NAMES),
]
