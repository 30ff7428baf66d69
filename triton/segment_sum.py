"""segment_sum: y[s] = x[offsets[s]] + ... + x[offsets[s+1] - 1]

Layout   x: [n], offsets: [segments + 1] int64, rising from 0 to n; y: [segments]; contiguous. fp32, fp16,
         bf16; added in fp32.
Limits   an empty segment gives 0.
Source   Merrill and Garland 2016, Merge-based parallel sparse matrix-vector multiplication
  triton/segment  a program adds up a segment, a block at a time: one long segment keeps one program busy
  torch/eager     torch.segment_reduce in fp32: in 16 bits it would add up in 16 bits
  torch/compile   the same through Inductor
"""

import torch

from implementation import DENSE, INTERPRETED, Implementation, beside_peers, compile_for, dense, tl, triton

DIFFERENTIABLE = ()  # of the inputs of reference
BLOCK = 4096 if INTERPRETED else 1024  # elements that a program adds at once


@triton.jit
def _segment_sum_fwd_kernel(x_ptr, offsets_ptr, y_ptr, BLOCK: tl.constexpr):
    s, i = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    end = tl.load(offsets_ptr + s + 1)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for first in range(tl.load(offsets_ptr + s), end, BLOCK):
        total += tl.load(x_ptr + first + i, mask=first + i < end, other=0.0).to(tl.float32)
    tl.store(y_ptr + s, tl.sum(total, 0).to(y_ptr.dtype.element_ty))


def forward(x, offsets):
    """x [n], offsets [segments + 1] int64 -> y [segments] of x's dtype."""
    segments = offsets.numel() - 1
    y = torch.empty(segments, dtype=x.dtype, device=x.device)
    if segments:
        _segment_sum_fwd_kernel[(segments,)](x, offsets, y, BLOCK=BLOCK)
    return y


def reference(x, offsets):
    """The formula in torch, segment by segment, in the dtype of x."""
    ends = offsets.tolist()
    sums = [x[first:end].sum(0, keepdim=True) for first, end in zip(ends, ends[1:])]
    return torch.cat(sums) if sums else x[:0]


def eager(x, offsets):
    """torch.segment_reduce in fp32."""
    if offsets.numel() == 1:
        return x[:0].clone()
    return torch.segment_reduce(x.float(), "sum", offsets=offsets, initial=0.0, unsafe=True).to(x.dtype)


_NAMES = {"outputs": ("y",)}

IMPLEMENTATIONS = [
    Implementation("triton/segment", forward, accepts=dense, constraint=DENSE, **_NAMES),
    Implementation("torch/eager", eager, **_NAMES),
    *beside_peers(Implementation("torch/compile", compile_for(eager), compiled=True, **_NAMES)),
]
