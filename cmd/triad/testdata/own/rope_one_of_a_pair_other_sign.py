import torch
import triton
import triton.language as tl

@triton.jit
def rope_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, seq_len, head_dim, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    pos = row % seq_len
    half = head_dim // 2
    i = tl.arange(0, BLOCK)
    m = i < half
    a = tl.load(x_ptr + row * head_dim + i, mask=m).to(tl.float32)
    b = tl.load(x_ptr + row * head_dim + half + i, mask=m).to(tl.float32)
    c = tl.load(cos_ptr + pos * half + i, mask=m).to(tl.float32)
    s = tl.load(sin_ptr + pos * half + i, mask=m).to(tl.float32)
    tl.store(out_ptr + row * head_dim + i, a * c + b * s, mask=m)
    tl.store(out_ptr + row * head_dim + half + i, b * c - a * s, mask=m)

def apply_rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    batch, heads, seq_len, head_dim = x.shape
    out = torch.empty_like(x)
    rope_kernel[(batch * heads * seq_len,)](x, cos, sin, out, seq_len, head_dim, BLOCK=triton.next_power_of_2(head_dim // 2))
    return out
