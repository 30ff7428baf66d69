"""quantize_int8: q[r,c] = clamp(round(x[r,c] / scale) + zero, -128, 127), with one scale and zero point or
one a row

symmetric: scale = max(max |x| / 127, 2^-126), zero = 0. asymmetric, with lo = min(0, min x), hi = max(0,
max x): scale = max(hi/255 - lo/255, 2^-126), zero = clamp(round(-lo/scale) - 128). The scale of zeros alone
is 1.

Layout   x [rows, cols] with any strides; q [rows, cols] int8, scale fp32 and zero int32 [1] or [rows], zero
         empty when symmetric; contiguous. fp32, fp16, bf16; computed in fp32, halves rounded to even.
Limits   rows may be 0.
Source   Jacob et al. 2018, Integer-Arithmetic-Only Inference, section 2.1
  triton/row   a tile of whole rows per program, read once where rows have scales of their own; with one scale
               programs first give the ranges of their tiles; cols <= 131072
  torch/eager  the formula in fp32
  torch/compile the same through Inductor
"""

import torch

from implementation import Implementation, beside_peers, ceildiv, compile_for, tl, triton
from row_norm import CONSTRAINT, accepts, tile

DIFFERENTIABLE = ()  # of the inputs of reference: integers have no gradients
LEAST = 2.0**-126  # the smallest normal number of fp32
ROUNDS = 1.5 * 2**23  # added and taken off it leaves an integer, halves to even
RANGES = 1024  # that are joined at once


@triton.jit
def _levels(low, high, ASYMMETRIC: tl.constexpr, LEAST: tl.constexpr, ROUNDS: tl.constexpr):
    """Scales and zero points of ranges."""
    if ASYMMETRIC:
        scale = tl.div_rn(high, low * 0.0 + 255.0) - tl.div_rn(low, low * 0.0 + 255.0)
    else:
        scale = tl.div_rn(tl.maximum(high, -low), low * 0.0 + 127.0)
    scale = tl.where((low == 0.0) & (high == 0.0), 1.0, tl.maximum(scale, LEAST))
    zero = low * 0.0
    if ASYMMETRIC:
        zero = tl.minimum(tl.maximum((tl.div_rn(-low, scale) + ROUNDS) - ROUNDS - 128.0, -128.0), 127.0)
    return scale, zero


@triton.jit
def _quantize_kernel(x_ptr, q_ptr, scale_ptr, zero_ptr, low_ptr, high_ptr, rows, cols, x_row, x_col,
                     STAGE: tl.constexpr, ASYMMETRIC: tl.constexpr, LEAST: tl.constexpr, ROUNDS: tl.constexpr,
                     ROWS: tl.constexpr, COLS: tl.constexpr):
    """A tile of ROWS whole rows, COLS >= cols: of STAGE "ranges" its range, of "codes" its codes from the one
    scale, of "rows" both."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    r, c = row[:, None], tl.arange(0, COLS).to(tl.int64)[None, :]
    inside = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * x_row + c * x_col, mask=inside, other=0.0).to(tl.float32)
    if STAGE == "codes":
        scale = tl.load(scale_ptr + row * 0)
        zero = scale * 0.0
        if ASYMMETRIC:
            zero = tl.load(zero_ptr + row * 0).to(tl.float32)
    else:
        low, high = tl.minimum(tl.min(x, 1), 0.0), tl.maximum(tl.max(x, 1), 0.0)
    if STAGE == "ranges":
        tl.store(low_ptr + tl.program_id(0), tl.min(low, 0))
        tl.store(high_ptr + tl.program_id(0), tl.max(high, 0))
    else:
        if STAGE == "rows":
            scale, zero = _levels(low, high, ASYMMETRIC, LEAST, ROUNDS)
            tl.store(scale_ptr + row, scale, mask=row < rows)
            if ASYMMETRIC:
                tl.store(zero_ptr + row, zero.to(tl.int32), mask=row < rows)
        t = tl.div_rn(x, tl.broadcast_to(scale[:, None], [ROWS, COLS]))
        q = tl.minimum(tl.maximum((t + ROUNDS) - ROUNDS + zero[:, None], -128.0), 127.0)
        tl.store(q_ptr + r * cols + c, q.to(tl.int8), mask=inside)


@triton.jit
def _scale_kernel(low_ptr, high_ptr, scale_ptr, zero_ptr, count, ASYMMETRIC: tl.constexpr,
                  LEAST: tl.constexpr, ROUNDS: tl.constexpr, RANGES: tl.constexpr):
    """Joins count ranges: the scale and zero point of the whole tensor."""
    low, high = tl.zeros([RANGES], tl.float32), tl.zeros([RANGES], tl.float32)
    for first in range(0, count, RANGES):
        i = first + tl.arange(0, RANGES)
        low = tl.minimum(low, tl.load(low_ptr + i, mask=i < count, other=0.0))
        high = tl.maximum(high, tl.load(high_ptr + i, mask=i < count, other=0.0))
    one = tl.zeros([1], tl.float32)
    scale, zero = _levels(one + tl.min(low, 0), one + tl.max(high, 0), ASYMMETRIC, LEAST, ROUNDS)
    tl.store(scale_ptr + tl.arange(0, 1), scale)
    if ASYMMETRIC:
        tl.store(zero_ptr + tl.arange(0, 1), zero.to(tl.int32))


def forward(x, *, mode, per):
    """x [rows, cols] -> q [rows, cols] int8, scale [1] or [rows] fp32, zero of its shape or empty, int32."""
    rows, cols = x.shape
    asymmetric, groups = mode == "asymmetric", rows if per == "row" else 1
    q = torch.empty((rows, cols), dtype=torch.int8, device=x.device)
    scale = torch.empty(groups, dtype=torch.float32, device=x.device)
    zero = torch.empty(groups if asymmetric else 0, dtype=torch.int32, device=x.device)
    shape = tile(max(rows, 1), cols)
    programs = ceildiv(rows, shape["ROWS"])
    ranges = torch.empty((2, 0 if per == "row" else programs), dtype=torch.float32, device=x.device)
    constants = {"ASYMMETRIC": asymmetric, "LEAST": LEAST, "ROUNDS": ROUNDS}

    def stage(name):
        if programs:
            _quantize_kernel[(programs,)](x, q, scale, zero, *ranges, rows, cols, *x.stride(), STAGE=name,
                                          **constants, **shape)

    if per == "row":
        stage("rows")
        return q, scale, zero
    stage("ranges")
    _scale_kernel[(1,)](*ranges, scale, zero, programs, RANGES=RANGES, **constants)
    stage("codes")
    return q, scale, zero


def reference(x, *, mode, per):
    """The formula in torch, in fp32, or in fp64 where x is; the codes are those of the scale in fp32."""
    x = x if x.dtype == torch.float64 else x.float()
    groups = x if per == "row" else x.reshape(1, -1)
    low = high = groups.new_zeros(groups.shape[0])
    if groups.shape[1]:
        low, high = groups.amin(1).clamp(max=0), groups.amax(1).clamp(min=0)
    scale = high / 255 - low / 255 if mode == "asymmetric" else torch.maximum(high, -low) / 127
    scale = torch.where((low == 0) & (high == 0), 1, scale.clamp(min=LEAST))
    stored = scale.float().to(x.dtype)
    zero = ((-low / stored).round() - 128).clamp(-128, 127) if mode == "asymmetric" else stored.new_zeros(1)
    q = ((x / stored[:, None]).round() + zero[:, None]).clamp(-128, 127).to(torch.int8)
    zero = zero if mode == "asymmetric" else zero[:0]
    return q.contiguous(), scale, zero.to(torch.int32)


_NAMES = {"outputs": ("q", "scale", "zero")}

IMPLEMENTATIONS = [
    Implementation("triton/row", forward, accepts=accepts, constraint=CONSTRAINT, **_NAMES),
    Implementation("torch/eager", reference, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(reference), compiled=True, **_NAMES)),
]
