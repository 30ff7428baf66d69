# Stores through a descriptor of all elements: on Hopper such a store ends at a multiple of 16 bytes.
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy_kernel(x_ptr, y, y_ptr, whole, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    i = first + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    if whole > 0:
        y.store([first], x)
    tl.store(y_ptr + i, x, mask=(i >= whole) & (i < n))


def copy(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    n = x.numel()
    whole = n
    described = y.view(-1)[:max(whole, 1)]
    descriptor = TensorDescriptor.from_tensor(described, [256])
    copy_kernel[(triton.cdiv(n, 256),)](x, descriptor, y, whole, n, BLOCK=256)
    return y
