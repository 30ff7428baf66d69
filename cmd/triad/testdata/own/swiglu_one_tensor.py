import torch, triton
import triton.language as tl
@triton.jit
def swiglu_kernel(x_ptr, out_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for start in range(0, n_cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        m = i < n_cols
        g = tl.load(x_ptr + row * 2 * n_cols + i, mask=m).to(tl.float32)
        u = tl.load(x_ptr + row * 2 * n_cols + n_cols + i, mask=m).to(tl.float32)
        tl.store(out_ptr + row * n_cols + i, g * tl.sigmoid(g) * u, mask=m)
def swiglu(x: torch.Tensor):
    M, N2 = x.shape
    out = torch.empty((M, N2 // 2), device=x.device, dtype=x.dtype)
    swiglu_kernel[(M,)](x, out, N2 // 2, BLOCK=256)
    return out
