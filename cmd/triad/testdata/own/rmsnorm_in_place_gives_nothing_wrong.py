"""A wrong norm in the place of its input: the wrapper returns nothing."""
import torch
import triton
import triton.language as tl


@triton.jit
def _rms(X, W, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(X + row * stride + c, mask=c < n, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(x * x, 0) / (n + 1) + eps)
    w = tl.load(W + c, mask=c < n, other=0.0).to(tl.float32)
    tl.store(X + row * stride + c, x * r * w, mask=c < n)


def rms_norm_(x, weight, eps=1e-6):
    """RMSNorm in place."""
    rows = x.numel() // x.shape[-1]
    _rms[(rows,)](x, weight, x.stride(-2), x.shape[-1], eps, triton.next_power_of_2(x.shape[-1]))
