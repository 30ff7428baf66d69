import torch


def solve(a: torch.Tensor, b: torch.Tensor, N: int):
    b.view(-1)[: N * N].copy_(a.view(-1)[: N * N])
