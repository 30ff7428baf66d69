import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(x_ptr, w_ptr, z_ptr, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    z = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        across = start + tl.arange(0, BLOCK)[None, :]
        x = tl.load(x_ptr + rows * K + across, mask=(rows < M) & (across < K), other=0.0)
        x = x.to(tl.float16)
        down = start + tl.arange(0, BLOCK)[:, None]
        w = tl.load(w_ptr + down * N + cols, mask=(down < K - 1) & (cols < N), other=0.0)
        w = w.to(tl.float16)
        z = tl.dot(x, w, acc=z)
    tl.store(z_ptr + rows * N + cols, z, mask=(rows < M) & (cols < N))


def linear(x, weight):
    leading = x.shape[:-1]
    x = x.view((-1, x.shape[-1]))
    M, K = x.shape
    N = weight.shape[1]
    z = torch.empty((M, N), device=x.device, dtype=x.dtype)
    linear_kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](x, weight, z, M, N, K, BLOCK=32)
    return z.view((*leading, N))
