"""The scales of groups of numbers, and their fp8 codes, with the roundings of a library's recipe: Triton
kernels for operators that quantise, and the same in torch. The formula stands at the head of
triton/quantize_fp8.py."""

import torch

from implementation import ceildiv, tl, triton

SIDE = 128
BAND = 32  # rows of a program
MOST = {"e4m3": 448.0, "e5m2": 57344.0}
CODES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}


@triton.jit
def _power_below(v):
    """The power of two at or below a normal number; 0, infinity and NaN stay."""
    bits = v.to(tl.int32, bitcast=True)
    return tl.where(bits < 0x7F800000, bits & 0x7F800000, bits).to(tl.float32, bitcast=True)


@triton.jit
def _steps(amax, MOST: tl.constexpr, DEEPSEEK: tl.constexpr, POWERS: tl.constexpr):
    """The scales of groups, and the factors of their numbers. NaN stays: no comparison with it holds."""
    if DEEPSEEK:
        a = tl.where(amax < 1e-4, 1e-4, amax)
        most = tl.zeros_like(a) + MOST
        stored, factor = tl.div_rn(a, most), tl.div_rn(most, a)
        if POWERS:
            below = _power_below(stored)
            stored = tl.where(below < stored, 2.0 * below, stored)
            factor = tl.div_rn(tl.zeros_like(stored) + 1.0, stored)
    else:
        wide = amax.to(tl.float64)
        factor = (MOST / tl.where(wide < 1e-12, 1e-12, wide)).to(tl.float32)
        if POWERS:
            factor = _power_below(factor)
        stored = factor
    return stored, factor


@triton.jit
def _largest_kernel(x_ptr, part_ptr, rows, cols, x_row, x_col, height, width, across, parts,
                    BY_ROW: tl.constexpr, BAND: tl.constexpr, COLS: tl.constexpr):
    """The bits of the largest magnitudes in a band of groups: of each row where BY_ROW, else of all, a part
    of a group. As integers magnitudes have the order of the numbers, and NaN is above infinity."""
    band, group = tl.program_id(0) // across, tl.program_id(0) % across
    r = (band * BAND + tl.arange(0, BAND)).to(tl.int64)
    most = tl.zeros([BAND, COLS], tl.int32)
    for begin in range(0, width, COLS):
        within = begin + tl.arange(0, COLS)
        c = (group * width + within).to(tl.int64)[None, :]
        inside = (r[:, None] < rows) & (c < cols) & (within < width)[None, :]
        x = tl.load(x_ptr + r[:, None] * x_row + c * x_col, mask=inside, other=0.0).to(tl.float32)
        most = tl.maximum(most, x.to(tl.int32, bitcast=True) & 0x7FFFFFFF)
    if BY_ROW:
        tl.store(part_ptr + r * across + group, tl.max(most, 1), mask=r < rows)
    else:
        part_ptr += (band // parts * across + group) * parts + band % parts
        tl.store(part_ptr, tl.max(tl.max(most, 1), 0))


@triton.jit
def _scale_kernel(part_ptr, scale_ptr, factor_ptr, groups, parts, MOST: tl.constexpr,
                  DEEPSEEK: tl.constexpr, POWERS: tl.constexpr, GROUPS: tl.constexpr, PARTS: tl.constexpr):
    """Joins the parts of GROUPS groups, and gives their scales."""
    at, i = tl.program_id(0) * GROUPS + tl.arange(0, GROUPS), tl.arange(0, PARTS)[None, :]
    most = tl.load(part_ptr + at[:, None] * parts + i, mask=(at[:, None] < groups) & (i < parts), other=0)
    stored, factor = _steps(tl.max(most, 1).to(tl.float32, bitcast=True), MOST, DEEPSEEK, POWERS)
    tl.store(scale_ptr + at, stored, mask=at < groups)
    tl.store(factor_ptr + at, factor, mask=at < groups)


@triton.jit
def _codes_kernel(x_ptr, q_ptr, factor_ptr, rows, cols, x_row, x_col, height, width, across,
                  MOST: tl.constexpr, LEAST: tl.constexpr, UNITS: tl.constexpr, MANTISSA: tl.constexpr,
                  ROWS: tl.constexpr, COLS: tl.constexpr):
    """The codes of a tile. LEAST are the exponent bits, in fp32, of the format's least normal number, and
    UNITS the inverse of its least number."""
    tiles = tl.cdiv(cols, COLS)
    r = (tl.program_id(0) // tiles * ROWS + tl.arange(0, ROWS)).to(tl.int64)[:, None]
    c = (tl.program_id(0) % tiles * COLS + tl.arange(0, COLS)).to(tl.int64)[None, :]
    inside = (r < rows) & (c < cols)
    x = tl.load(x_ptr + r * x_row + c * x_col, mask=inside, other=0.0).to(tl.float32)
    factor = tl.load(factor_ptr + r // height * across + c // width, mask=inside, other=0.0)
    bits = (x * factor).to(tl.int32, bitcast=True)
    magnitude = bits & 0x7FFFFFFF  # between the product and the sum, which else could become one fma
    held = tl.minimum(magnitude.to(tl.float32, bitcast=True), MOST)
    # the unit of the code's last place, times 1.5 * 2^23: adding it rounds to that unit, halves to even
    unit = tl.maximum(magnitude & 0x7F800000, LEAST) - (MANTISSA << 23)
    rounds = (unit + (23 << 23)).to(tl.float32, bitcast=True) * 1.5
    rounded = (held + rounds) - rounds
    # below the least normal number the code is a number of units; beyond it the product may be anything
    small = (rounded * UNITS).to(tl.int32)
    rounded = rounded.to(tl.int32, bitcast=True)
    large = (rounded >> (23 - MANTISSA)) - ((LEAST >> (23 - MANTISSA)) - (1 << MANTISSA))
    code = tl.where(rounded < LEAST, small, large)
    code = tl.where(magnitude > 0x7F800000, 0x7F, code) | ((bits >> 31) & 1) << 7
    tl.store(q_ptr + r * cols + c, code.to(tl.uint8), mask=inside)


def groups(rows, cols, per):
    """Height and width of a group, and the shape of the scales."""
    down, across = ceildiv(rows, SIDE), ceildiv(cols, SIDE)
    return {"tensor": (max(rows, 1), max(cols, 1), (1,)), "row": (1, max(cols, 1), (rows,)),
            "block": (1, SIDE, (rows, across)), "tile": (SIDE, SIDE, (down, across))}[per]


def quantized(x, format, per, recipe, powers):
    """x [rows, cols] -> codes of the same shape, and the scales of its groups: [1], [rows], [rows,
    ceil(cols/128)] or [ceil(rows/128), ceil(cols/128)] in fp32."""
    rows, cols = x.shape
    height, width, shape = groups(rows, cols, per)
    across = shape[1] if len(shape) == 2 else 1
    scale = torch.empty(shape, dtype=torch.float32, device=x.device)
    factor = torch.empty_like(scale)
    q = torch.empty((rows, cols), dtype=torch.uint8, device=x.device)
    parts = 1 if height == 1 else ceildiv(height, BAND)
    part = torch.zeros(scale.numel() * parts, dtype=torch.int32, device=x.device)
    sizes, bands = (rows, cols, *x.stride(), height, width, across), ceildiv(rows, BAND)
    if q.numel():
        _largest_kernel[(bands * across,)](x, part, *sizes, parts, BAND=BAND, COLS=SIDE,
                                           BY_ROW=height == 1 and per != "tensor")
    if scale.numel():
        _scale_kernel[(ceildiv(scale.numel(), BAND),)](
            part, scale, factor, scale.numel(), parts, MOST=MOST[format], DEEPSEEK=recipe == "deepseek",
            POWERS=powers, GROUPS=BAND, PARTS=triton.next_power_of_2(parts))
    if q.numel():
        least, mantissa = {"e4m3": (-6, 3), "e5m2": (-14, 2)}[format]
        _codes_kernel[(bands * ceildiv(cols, SIDE),)](
            x, q, factor, *sizes, MOST=MOST[format], LEAST=127 + least << 23, MANTISSA=mantissa,
            UNITS=2.0 ** (mantissa - least), ROWS=BAND, COLS=SIDE)
    return q.view(CODES[format]), scale


def quantized_in_torch(x, format, per, recipe, powers):
    """The formula in torch, with the roundings of the recipe."""
    (rows, cols), most = x.shape, MOST[format]
    height, width, shape = groups(rows, cols, per)
    down = 1 if per == "tensor" else ceildiv(rows, height)
    across = 1 if per in ("tensor", "row") else ceildiv(cols, width)
    padded = x.new_zeros((down * height, across * width))
    padded[:rows, :cols] = x
    amax = padded.reshape(down, height, across, width).abs().amax((1, 3))
    if recipe == "torchao":
        scale = factor = (most / amax.double().clamp(min=1e-12)).float()
        if powers:
            scale = factor = _power_at_most(factor)
    else:
        amax = amax.float().clamp(min=1e-4)
        each = torch.full_like(amax, most)  # with a number torch makes a product with a reciprocal
        scale, factor = amax / each, each / amax
        if powers:
            below = _power_at_most(scale)
            scale = torch.where(below < scale, 2 * below, scale)
            factor = 1 / scale
    of = factor.repeat_interleave(height, 0)[:rows].repeat_interleave(width, 1)[:, :cols]
    return (x.float() * of).clamp(-most, most).to(CODES[format]).contiguous(), scale.reshape(shape)


def _power_at_most(v):
    """The power of two at or below a normal number; 0, infinity and NaN stay."""
    bits = v.view(torch.int32)
    return torch.where(bits < 0x7F800000, bits & 0x7F800000, bits).view(torch.float32)


def tile_scales(scale):
    """scale [rows / 128, k / 128] of tiles in fp32 -> [k / 128, rows / 128] as cuBLASLt reads it through
    torch._scaled_mm: every row of scale begins at a multiple of 4. A torch that wants them dense and would
    have cuBLASLt read past their end refuses this layout."""
    across = scale.shape[1]
    return torch.nn.functional.pad(scale, (0, -across % 4)).contiguous()[:, :across].T
