import torch
import triton
import triton.language as tl


@triton.jit
def _rows(x_ptr, y_ptr, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    keep = (cols < n) & (cols <= row)
    x = tl.load(x_ptr + row * stride + cols, mask=keep, other=float("-inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * stride + cols, e / tl.sum(e, axis=0), mask=cols < n)


def masked_softmax(x):
    m, n = x.shape
    y = torch.empty_like(x)
    _rows[(m,)](x, y, x.stride(0), n, BLOCK=triton.next_power_of_2(n))
    return y
