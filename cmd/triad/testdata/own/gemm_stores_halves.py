"""C = alpha A B + beta C of halves, which its kernel alone says."""
import torch
import triton
import triton.language as tl


@triton.jit
def update(a, b, c, M, N, K, alpha, beta, SIDE: tl.constexpr):
    rows = tl.program_id(0) * SIDE + tl.arange(0, SIDE)[:, None]
    cols = tl.program_id(1) * SIDE + tl.arange(0, SIDE)[None, :]
    total = tl.zeros((SIDE, SIDE), dtype=tl.float32)
    for start in range(0, K, SIDE):
        across = start + tl.arange(0, SIDE)[None, :]
        down = start + tl.arange(0, SIDE)[:, None]
        left = tl.load(a + rows * K + across, mask=(rows < M) & (across < K), other=0.0)
        right = tl.load(b + down * N + cols, mask=(down < K) & (cols < N), other=0.0)
        total += tl.dot(left, right)
    inside = (rows < M) & (cols < N)
    before = tl.load(c + rows * N + cols, mask=inside, other=0.0).to(tl.float32)
    tl.store(c + rows * N + cols, (alpha * total + beta * before).to(tl.float16), mask=inside)


def solve(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, M: int, N: int, K: int, alpha: float, beta: float):
    update[(triton.cdiv(M, 32), triton.cdiv(N, 32))](a, b, c, M, N, K, alpha, beta, SIDE=32)
