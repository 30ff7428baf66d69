import torch


def solve(input: torch.Tensor, output: torch.Tensor, N: int, D: int):
    e = torch.exp(input)
    output.copy_(e / e.sum(-1, keepdim=True))
