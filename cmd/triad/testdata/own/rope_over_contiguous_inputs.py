# q and k are rotated where they lie if they are contiguous, and their copies are if not.
import torch
import triton
import triton.language as tl


@triton.jit
def _rope(x_ptr, cos_ptr, sin_ptr, T, D, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    t = row % T
    c = tl.arange(0, BLOCK)
    ok = c < D // 2
    cos = tl.load(cos_ptr + t * (D // 2) + c, mask=ok, other=0.0).to(tl.float32)
    sin = tl.load(sin_ptr + t * (D // 2) + c, mask=ok, other=0.0).to(tl.float32)
    a = tl.load(x_ptr + row * D + c, mask=ok, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + row * D + D // 2 + c, mask=ok, other=0.0).to(tl.float32)
    tl.store(x_ptr + row * D + c, a * cos - b * sin, mask=ok)
    tl.store(x_ptr + row * D + D // 2 + c, b * cos + a * sin, mask=ok)


def apply_rope(q, k, cos, sin):
    T, D = q.shape[-2], q.shape[-1]
    q, k = q.contiguous(), k.contiguous()
    for x in (q, k):
        _rope[(x.numel() // D,)](x, cos, sin, T, D, BLOCK=triton.next_power_of_2(max(D // 2, 1)))
    return q, k
