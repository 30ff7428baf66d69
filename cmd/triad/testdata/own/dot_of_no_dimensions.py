import torch


def solve(A: torch.Tensor, B: torch.Tensor, result: torch.Tensor, N: int):
    torch.sum(A * B, dim=0, out=result)
