"""C = alpha A B + beta C by one call, which reads C and writes it."""
import torch


def solve(A: torch.Tensor, B: torch.Tensor, C: torch.Tensor, M: int, N: int, K: int, alpha: float, beta: float):
    torch.addmm(
        C, A, B,
        alpha=alpha,
        beta=beta,
        out=C,
    )
