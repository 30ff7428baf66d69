# q and k are rotated where they lie, heads first, as the names of their sizes say.
import torch
import triton
import triton.language as tl


@triton.jit
def _rope(q_ptr, k_ptr, cos_ptr, sin_ptr, Hq, Hk, S, HALF, BLOCK: tl.constexpr):
    batch, at, head = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    c = tl.arange(0, BLOCK)
    ok = c < HALF
    cos = tl.load(cos_ptr + at * HALF + c, mask=ok, other=1.0)
    sin = tl.load(sin_ptr + at * HALF + c, mask=ok, other=0.0)
    if head < Hq:
        q_row = q_ptr + ((batch * Hq + head) * S + at) * 2 * HALF
        a = tl.load(q_row + c, mask=ok)
        b = tl.load(q_row + HALF + c, mask=ok)
        tl.store(q_row + c, a * cos - b * sin, mask=ok)
        tl.store(q_row + HALF + c, b * cos + a * sin, mask=ok)
    if head < Hk:
        k_row = k_ptr + ((batch * Hq + head) * S + at) * 2 * HALF
        a = tl.load(k_row + c, mask=ok)
        b = tl.load(k_row + HALF + c, mask=ok)
        tl.store(k_row + c, a * cos - b * sin, mask=ok)
        tl.store(k_row + HALF + c, b * cos + a * sin, mask=ok)


def apply_rope(q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor):
    B, Hq, S, D = q.shape
    Hk = k.shape[1]
    _rope[(B, S, max(Hq, Hk))](q, k, cos, sin, Hq, Hk, S, D // 2, BLOCK=triton.next_power_of_2(D // 2))
    return q, k
