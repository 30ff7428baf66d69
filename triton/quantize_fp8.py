"""quantize_fp8: q[r,c] = fp8(x[r,c] * factor), with the scale of the tensor, of each row, of 1 x 128 blocks
or of 128 x 128 tiles, and the same of the transpose

most = 448 (e4m3) or 57344 (e5m2), amax = max |x| of a group. torchao: factor = scale = most / max(amax,
1e-12) in fp64, rounded to fp32; with powers the power of two at or below it. deepseek, in fp32: a =
max(amax, 1e-4), scale = a / most, factor = most / a; with powers scale is the power of two at or above it,
and factor = 1 / scale.

Layout   x [rows, cols] with any strides; q [rows, cols], scale [1], [rows], [rows, ceil(cols/128)] or
         [ceil(rows/128), ceil(cols/128)] fp32; q_t [cols, rows] and scale_t, empty without both;
         contiguous. fp32, fp16, bf16. NaN makes its group NaN.
Limits   rows may be 0.
Source   torchao 0.18, float8_utils.py; DeepSeek-V3 2024, arXiv:2412.19437, section 3.3
  triton/tile  programs look for amax in bands of 32 rows, others give the scales, others the codes of
               tiles of 32 x 128; for each orientation anew
  torch/eager  the formula in torch
  torch/compile the same through Inductor
"""


from fp8_scales import groups, quantized, quantized_in_torch
from implementation import Implementation, beside_peers, compile_for

DIFFERENTIABLE = ()  # of the inputs of reference: codes have no gradients


def forward(x, *, format, per, recipe, powers, both):
    """x [rows, cols] -> q [rows, cols], scale, and with both q_t [cols, rows], scale_t, else both empty."""
    return _both(quantized, x, format, per, recipe, powers, both)


def _both(side, x, format, per, recipe, powers, both):
    q, scale = side(x, format, per, recipe, powers)
    if both:
        return q, scale, *side(x.t(), format, per, recipe, powers)
    return q, scale, q.new_empty((0, 0)), scale.new_empty((0, *groups(*x.t().shape, per)[2][1:]))


def reference(x, *, format, per, recipe, powers, both):
    """The formula in torch; scales are those of fp32 whatever x is."""
    return _both(quantized_in_torch, x, format, per, recipe, powers, both)


_NAMES = {"outputs": ("q", "scale", "q_t", "scale_t"), "contract": "exact"}

IMPLEMENTATIONS = [
    Implementation("triton/tile", forward, **_NAMES),
    Implementation("torch/eager", reference, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(reference), compiled=True, **_NAMES)),
]
