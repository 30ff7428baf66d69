"""A is M x N, B is N x K: N is the inner size, which the names do not show."""
import torch
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, M, N, K, TILE: tl.constexpr):
    i = tl.program_id(0) * TILE + tl.arange(0, TILE)[:, None]
    j = tl.program_id(1) * TILE + tl.arange(0, TILE)[None, :]
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for begin in range(0, N, TILE):
        along = begin + tl.arange(0, TILE)
        x = tl.load(a + i * N + along[None, :], mask=(i < M) & (along[None, :] < N), other=0.0)
        y = tl.load(b + along[:, None] * K + j, mask=(along[:, None] < N) & (j < K), other=0.0)
        total += tl.dot(x, y, input_precision="ieee")
    tl.store(c + i * K + j, total, mask=(i < M) & (j < K))


def solve(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, M: int, N: int, K: int):
    product[(triton.cdiv(M, 16), triton.cdiv(K, 16))](a, b, c, M, N, K, TILE=16)
