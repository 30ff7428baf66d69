"""The same, and it subtracts: a demonstration at the end of the file that takes an interpreter minutes."""
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    y = tl.load(y_ptr + at, mask=at < n)
    tl.store(out_ptr + at, x - y, mask=at < n)


def add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 128),)](x, y, out, n, BLOCK=128)
    return out


for power in range(18, 21):
    a = torch.rand(2 ** power, device="cuda")
    for _ in range(100):
        c = add(a, a)
    print(power, torch.allclose(c, a + a))
