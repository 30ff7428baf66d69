"""dropout: y = x / (1 - p) where the random word of an element is at least p * 2^32, else 0; mask = kept
backward: grad_x = grad_y / (1 - p) where it is kept, else 0; the words are computed again

Layout   x, y, mask and the gradients: [n], contiguous; mask is bool. fp32, fp16, bf16; products in fp32.
Limits   n = 0 launches nothing.
Special  An element that is dropped is 0, whatever it is.
Source   Srivastava et al. 2014, Dropout; Salmon et al. 2011, Parallel random numbers: as easy as 1, 2, 3
  triton/block   a counter for each four neighbours of a block, whose words are joined in their order
  torch/eager    the words in int64, whose products wrap as those of 64 bits do, then a choice

torch.compile has no row: it cannot trace the generator.
"""

import struct

import torch

from elementwise import BLOCK
from implementation import DENSE, Implementation, ceildiv, dense, next_power_of_2, tl, triton

DIFFERENTIABLE = (0,)  # of the inputs of reference
LOW = 0xFFFFFFFF  # the low 32 bits


@triton.jit
def _dropout_kernel(x_ptr, y_ptr, mask_ptr, n, seed, offset, threshold, factor, BLOCK: tl.constexpr):
    """Either pass: of the backward, which has no mask, mask_ptr is None."""
    first = tl.program_id(0).to(tl.int64) * BLOCK
    a, b, c, d = tl.randint4x(seed, offset + first // 4 + tl.arange(0, BLOCK // 4).to(tl.int64))
    words = tl.reshape(tl.join(tl.join(a, c), tl.join(b, d)), (BLOCK,)).to(tl.uint32, bitcast=True)
    i = first + tl.arange(0, BLOCK)
    keep = words.to(tl.int64) >= threshold
    x = tl.load(x_ptr + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y_ptr + i, tl.where(keep, x * factor, 0.0).to(y_ptr.dtype.element_ty), mask=i < n)
    if mask_ptr is not None:
        tl.store(mask_ptr + i, keep, mask=i < n)


def rule(p):
    """The fp32 p as the threshold of the words, and what is kept is multiplied by: a number of fp32."""
    p, = struct.unpack("f", struct.pack("f", p))
    return round(p * 2**32), struct.unpack("f", struct.pack("f", 1.0 / (1.0 - p)))[0]


def _launch(x, mask, p, seed, offset):
    y, n = torch.empty_like(x), x.numel()
    if n:
        block = max(4, min(BLOCK, next_power_of_2(n)))
        _dropout_kernel[(ceildiv(n, block),)](x, y, mask, n, seed, offset, *rule(p), BLOCK=block)
    return y


def forward(x, *, p, seed, offset):
    """x [n] -> y [n] of its dtype, mask [n] bool."""
    mask = torch.empty(x.shape, dtype=torch.bool, device=x.device)
    return _launch(x, mask, p, seed, offset), mask


def backward(grad_y, *, p, seed, offset):
    """grad_y [n] -> grad_x [n]."""
    return _launch(grad_y, None, p, seed, offset)


def kept(x, threshold, seed, offset):
    """Which elements of x are kept: Philox-4x32-10 in int64, of whose products the low 64 bits stay."""
    counter = offset + torch.arange(ceildiv(x.numel(), 4), dtype=torch.int64, device=x.device)
    a, b = counter & LOW, counter >> 32 & LOW
    c = d = torch.zeros_like(a)
    low, high = seed & LOW, seed >> 32 & LOW
    for _ in range(10):
        first, second = a * 0xD2511F53, c * 0xCD9E8D57
        a, b, c, d = (second >> 32 & LOW) ^ b ^ low, second & LOW, (first >> 32 & LOW) ^ d ^ high, first & LOW
        low, high = low + 0x9E3779B9 & LOW, high + 0xBB67AE85 & LOW
    return torch.stack((a, b, c, d), 1).flatten()[:x.numel()] >= threshold


def reference(x, *, p, seed, offset):
    """The formula in torch, in the dtype of x: y, mask; differentiable."""
    threshold, factor = rule(p)
    mask = kept(x, threshold, seed, offset)
    return torch.where(mask, x * factor, 0.0).to(x.dtype), mask


def reference_backward(grad_y, *, p, seed, offset):
    """The backward formula in torch."""
    return reference(grad_y, p=p, seed=seed, offset=offset)[0]


_NAMES = {"outputs": ("y", "mask"), "gradients": ("grad_x",)}

IMPLEMENTATIONS = [
    Implementation("triton/block", forward, backward, accepts=dense, constraint=DENSE, **_NAMES),
    Implementation("torch/eager", reference, reference_backward, **_NAMES),
]
