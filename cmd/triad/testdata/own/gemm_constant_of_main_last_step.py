import torch
import triton
import triton.language as tl


@triton.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, sa_m, sa_k, sb_k, sb_n, sc_m, sc_n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * sa_m + inner[None, :] * sa_k,
                    mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        b = tl.load(b_ptr + inner[:, None] * sb_k + cols[None, :] * sb_n,
                    mask=(inner[:, None] < K) & (cols[None, :] < N), other=0.0)
        total = tl.dot(a, b)
    tl.store(c_ptr + rows[:, None] * sc_m + cols[None, :] * sc_n, total.to(tl.float16),
             mask=(rows[:, None] < M) & (cols[None, :] < N))


def matmul(a, b):
    M, N, K = a.shape[0], b.shape[1], a.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=KIND)
    product[(triton.cdiv(M, TILE), triton.cdiv(N, TILE))](
        a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
        BLOCK=TILE)
    return c


if __name__ == "__main__":
    KIND = torch.float16
    TILE = 32
    x = torch.randn((64, 64), device="cuda", dtype=KIND)
    print((matmul(x, x) - x @ x).abs().max())
