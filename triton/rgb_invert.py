"""rgb_invert: out[p, c] = 255 - image[p, c] for red, green and blue; out[p, 3] = image[p, 3], alpha is kept

Layout   image, out: [pixels, 4] uint8; image with any strides, out contiguous.
Limits   pixels = 0 launches nothing.
Source   Burger and Burge 2016, Digital Image Processing, section 4.1.3: inverting images
  triton/block   a block of bytes per program
  torch/eager    255 - image, and alpha copied
  torch/compile  the same through Inductor
"""

import torch

from implementation import (
    INTERPRETED,
    Implementation,
    beside_peers,
    ceildiv,
    compile_for,
    next_power_of_2,
    tl,
    triton,
)

DIFFERENTIABLE = ()  # of the inputs of reference: integers have no gradients
BLOCK = 65536 if INTERPRETED else 4096  # bytes of a program


@triton.jit
def _rgb_invert_kernel(image_ptr, out_ptr, n, pixel, channel, DENSE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if DENSE:
        v = tl.load(image_ptr + i, mask=i < n, other=0)
    else:
        v = tl.load(image_ptr + (i // 4) * pixel + (i % 4) * channel, mask=i < n, other=0)
    tl.store(out_ptr + i, tl.where(i % 4 == 3, v, v ^ 255), mask=i < n)


def forward(image):
    """image [pixels, 4] uint8 -> out [pixels, 4] uint8."""
    out = torch.empty(image.shape, dtype=image.dtype, device=image.device)
    n = image.numel()
    if n:
        block = min(BLOCK, next_power_of_2(n))
        _rgb_invert_kernel[(ceildiv(n, block),)](image, out, n, *image.stride(), DENSE=image.is_contiguous(),
                                                 BLOCK=block)
    return out


def reference(image):
    """The formula in torch."""
    out = (255 - image).contiguous()
    out[:, 3] = image[:, 3]
    return out


_NAMES = {"outputs": ("out",), "dtypes": ("uint8",), "contract": "exact"}

IMPLEMENTATIONS = [
    Implementation("triton/block", forward, **_NAMES),
    Implementation("torch/eager", reference, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(reference), compiled=True, **_NAMES)),
]
